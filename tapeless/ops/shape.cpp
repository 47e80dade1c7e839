// Ops that only rearrange: broadcast_to, reshape, transpose.
#include <algorithm>

#include "tapeless/ops/build.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

// --- broadcast_to

std::vector<Type> broadcast_type(const TypeQuery& q) {
  const Shape& shape = q.attr<Shape>("shape");
  auto joined = broadcast_shapes(q.operand(0).shape, shape);
  if (!joined || !(*joined == shape))
    q.fail("{} does not broadcast to {}", q.operand(0).str(), shape_str(shape));
  return {q.operand(0).with_shape(shape)};
}

void broadcast_reference(ReferenceCall& c) {
  int64_t i = 0;
  for_each_index(c.out().shape(), [&](const Extents& index) {
    int64_t from = broadcast_flat(index, c.in(0).shape());
    is_float(c.out().dtype()) ? c.out().set(i, c.in(0).get(from))
                              : c.out().set_int(i, c.in(0).get_int(from));
    ++i;
  });
}

loop::Expr broadcast_element(Elements& e, int, const Indices& index) {
  return e.broadcast_operand(0, index);
}

// The walk sums the cotangent back to the operand's shape.
void broadcast_vjp(Vjp& v) { v.give(0, v.cotangent()); }

constexpr AttrDef kShapeAttr[] = {
    {.name = "shape", .kind = AttrKind::kShape, .doc = "shape of the result"}};
constexpr Lowering kBroadcastLowering{.element = broadcast_element, .pointwise = true};
constexpr OpCase kBroadcastCases[] = {
    {.operands = "f32[4]", .attrs = "shape = [3, 4]"},
    {.operands = "f32[]", .attrs = "shape = [17]"},
    {.operands = "f32[3, 1]", .attrs = "shape = [2, 3, 5]"},
    {.operands = "i64[1]", .attrs = "shape = [0]"}};

// --- reshape

std::vector<Type> reshape_type(const TypeQuery& q) {
  const Shape& shape = q.attr<Shape>("shape");
  if (!(numel(q.operand(0).shape) == numel(shape)))
    q.fail("{} has {} elements, {} has {}", q.operand(0).str(), numel(q.operand(0).shape).str(),
           shape_str(shape), numel(shape).str());
  return {q.operand(0).with_shape(shape)};
}

void reshape_reference(ReferenceCall& c) {
  for (int64_t i = 0; i < c.out().numel(); ++i)
    is_float(c.out().dtype()) ? c.out().set(i, c.in(0).get(i))
                              : c.out().set_int(i, c.in(0).get_int(i));
}

loop::Expr reshape_element(Elements& e, int, const Indices& index) {
  return e.operand_flat(0, e.flat(index, e.op.result_type().shape));
}

void reshape_vjp(Vjp& v) {
  v.give(0, build::reshape(v.b, v.cotangent(), v.op.operand_type(0).shape));
}

constexpr Lowering kReshapeLowering{.element = reshape_element, .alias = true};
constexpr OpCase kReshapeCases[] = {{.operands = "f32[3, 4]", .attrs = "shape = [2, 6]"},
                                    {.operands = "f32[]", .attrs = "shape = [1, 1]"},
                                    {.operands = "i64[0, 4]", .attrs = "shape = [0]"}};

// --- transpose

std::vector<Type> transpose_type(const TypeQuery& q) {
  const Ints& permutation = q.attr<Ints>("permutation");
  Ints sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool valid = static_cast<int>(sorted.size()) == q.operand(0).rank();
  for (size_t i = 0; i < sorted.size(); ++i) valid = valid && sorted[i] == static_cast<int64_t>(i);
  if (!valid)
    q.fail("{} is no permutation of the axes of {}", attr_str(permutation), q.operand(0).str());
  Shape shape;
  for (int64_t axis : permutation) shape.push_back(q.operand(0).shape[static_cast<size_t>(axis)]);
  return {q.operand(0).with_shape(shape)};
}

void transpose_reference(ReferenceCall& c) {
  const Ints& permutation = c.op.ints("permutation");
  int64_t i = 0;
  Extents from(permutation.size());
  for_each_index(c.out().shape(), [&](const Extents& index) {
    for (size_t axis = 0; axis < index.size(); ++axis)
      from[static_cast<size_t>(permutation[axis])] = index[axis];
    int64_t at = flat(from, c.in(0).shape());
    is_float(c.out().dtype()) ? c.out().set(i, c.in(0).get(at))
                              : c.out().set_int(i, c.in(0).get_int(at));
    ++i;
  });
}

loop::Expr transpose_element(Elements& e, int, const Indices& index) {
  const Ints& permutation = e.op.ints("permutation");
  Indices from(index.size());
  for (size_t axis = 0; axis < index.size(); ++axis)
    from[static_cast<size_t>(permutation[axis])] = index[axis];
  return e.operand(0, from);
}

// dx = dy under the inverse permutation
void transpose_vjp(Vjp& v) {
  const Ints& permutation = v.op.ints("permutation");
  Ints inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  v.give(0, build::transpose(v.b, v.cotangent(), inverse));
}

constexpr AttrDef kPermutationAttr[] = {
    {.name = "permutation", .kind = AttrKind::kInts, .doc = "axis of the operand for each axis"}};
constexpr Lowering kTransposeLowering{.element = transpose_element};
constexpr OpCase kTransposeCases[] = {
    {.operands = "f32[3, 4]", .attrs = "permutation = [1, 0]"},
    {.operands = "f32[2, 17, 5]", .attrs = "permutation = [2, 0, 1]"},
    {.operands = "i64[0, 4]", .attrs = "permutation = [1, 0]"}};

}  // namespace

constinit const OpDef kBroadcastToOp{
    .name = "broadcast_to",
    .doc = "x stretched to `shape` by NumPy's rule.",
    .attrs = kShapeAttr,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = broadcast_type,
    .reference = broadcast_reference,
    .vjp = broadcast_vjp,
    .lower = &kBroadcastLowering,
    .cases = kBroadcastCases,
};

constinit const OpDef kReshapeOp{
    .name = "reshape",
    .doc = "The elements of x in row-major order in another shape of as many elements.",
    .attrs = kShapeAttr,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = reshape_type,
    .reference = reshape_reference,
    .vjp = reshape_vjp,
    .lower = &kReshapeLowering,
    .cases = kReshapeCases,
};

constinit const OpDef kTransposeOp{
    .name = "transpose",
    .doc = "Axes reordered: axis i of the result is axis permutation[i] of x.",
    .attrs = kPermutationAttr,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = transpose_type,
    .reference = transpose_reference,
    .vjp = transpose_vjp,
    .lower = &kTransposeLowering,
    .cases = kTransposeCases,
};

}  // namespace tapeless
