// Ops that only rearrange: broadcast_to, reshape, transpose.
#include <algorithm>

#include "tapeless/ops/build.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/rules.h"
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

// The reshape only puts sizes of 1 in front.
bool adds_leading_ones(const Op& reshape) {
  const Shape &from = reshape.operand_type(0).shape, &to = reshape.result_type().shape;
  if (to.size() < from.size() || !std::equal(from.rbegin(), from.rend(), to.rbegin())) return false;
  auto added = static_cast<std::ptrdiff_t>(to.size() - from.size());
  return std::all_of(to.begin(), to.begin() + added, [](const Dim& d) { return d.is(1); });
}

// broadcast of a broadcast, or of a reshape that only adds leading ones: one broadcast
std::vector<Value*> join_broadcasts(Builder& b, const Op& op) {
  const Op* inner = rules::made_by(op.operand(0), kBroadcastToOp);
  if (const Op* reshape = rules::made_by(op.operand(0), kReshapeOp))
    if (adds_leading_ones(*reshape)) inner = reshape;
  Value* x = inner != nullptr ? inner->operand(0) : op.operand(0);
  if (inner == nullptr && !(x->type == op.result_type())) return {};
  return {build::broadcast_to(b, x, op.result_type().shape)};
}

constexpr RewriteRule kBroadcastRules[] = {join_broadcasts};
constexpr AttrDef kShapeAttr[] = {
    {.name = "shape", .kind = AttrKind::kShape, .doc = "shape of the result"}};
constexpr Lowering kBroadcastLowering{.element = broadcast_element, .pointwise = true};
constexpr OpCase kBroadcastCases[] = {{.operands = "f32[4]", .attrs = "shape = [3, 4]"},
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

// A number everywhere is the same number everywhere in another shape.
std::vector<Value*> rearrange_scalar(Builder& b, const Op& op) {
  const Op* inner = rules::made_by(op.operand(0), kBroadcastToOp);
  if (inner == nullptr || !inner->operand_type(0).is_scalar()) return {};
  return {build::broadcast_to(b, inner->operand(0), op.result_type().shape)};
}

// A reshape to the same shape goes; one of another reshape looks through it.
std::vector<Value*> join_reshapes(Builder& b, const Op& op) {
  const Op* inner = rules::made_by(op.operand(0), kReshapeOp);
  Value* x = inner != nullptr ? inner->operand(0) : op.operand(0);
  if (inner == nullptr && !(x->type == op.result_type())) return {};
  return {build::reshape(b, x, op.result_type().shape)};
}

constexpr RewriteRule kReshapeRules[] = {join_reshapes, rearrange_scalar};
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

// Two transposes are one.
std::vector<Value*> join_transposes(Builder& b, const Op& op) {
  const Op* inner = rules::made_by(op.operand(0), kTransposeOp);
  if (inner == nullptr) return {};
  Ints joined;
  for (int64_t axis : op.ints("permutation"))
    joined.push_back(inner->ints("permutation")[static_cast<size_t>(axis)]);
  return {build::transpose(b, inner->operand(0), joined)};
}

// Axes longer than 1 keep their order: a reshape.
std::vector<Value*> keep_order(Builder& b, const Op& op) {
  const Shape& shape = op.operand_type(0).shape;
  Ints longer;
  for (int64_t axis : op.ints("permutation"))
    if (!shape[static_cast<size_t>(axis)].is(1)) longer.push_back(axis);
  if (!std::is_sorted(longer.begin(), longer.end())) return {};
  return {build::reshape(b, op.operand(0), op.result_type().shape)};
}

constexpr RewriteRule kTransposeRules[] = {join_transposes, keep_order, rearrange_scalar};
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
    .rules = kBroadcastRules,
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
    .rules = kReshapeRules,
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
    .rules = kTransposeRules,
    .lower = &kTransposeLowering,
    .cases = kTransposeCases,
};

}  // namespace tapeless
