// concat: tensors one after another along an axis.
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/slice.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

size_t axis_of(const Op& op) {
  int64_t axis = op.integer("axis");
  return static_cast<size_t>(axis < 0 ? axis + op.operand_type(0).rank() : axis);
}

std::vector<Type> result_type(const TypeQuery& q) {
  const Type& first = q.operand(0);
  auto axis = static_cast<size_t>(infer::normalize_axis(q, q.attr<int64_t>("axis"), first.rank()));
  Shape shape = first.shape;
  for (int i = 1; i < q.count(); ++i) {
    infer::require_same_dtype(q, 0, i);
    infer::require_rank(q, i, first.rank());
    Shape other = q.operand(i).shape;
    shape[axis] = shape[axis] + other[axis];
    other[axis] = first.shape[axis];
    if (!(other == first.shape))
      q.fail("shapes differ beside axis {}: {} and {}", axis, first.str(), q.operand(i).str());
  }
  return {first.with_shape(shape)};
}

void reference(ReferenceCall& c) {
  size_t axis = axis_of(c.op);
  int64_t start = 0;
  for (int i = 0; i < c.in_count(); ++i) {
    int64_t from = 0;
    for_each_index(c.in(i).shape(), [&](const Extents& index) {
      Extents to = index;
      to[axis] += start;
      copy_element(c.out(), flat(to, c.out().shape()), c.in(i), from++);
    });
    start += c.in(i).shape()[axis];
  }
}

// Each part is read only where it is chosen: the last one unless an earlier one ends behind the
// index.
loop::Expr element(Elements& e, int, const Indices& index) {
  size_t axis = axis_of(e.op);
  loop::Expr result;
  Dim end = e.op.result_type().shape[axis];
  for (auto i = static_cast<int>(e.op.operands.size()); i-- > 0;) {
    Dim start = end - e.op.operand_type(i).shape[axis];
    Indices at = index;
    loop::Expr mask;
    if (!start.is(0)) {
      at[axis] = index[axis] - e.size(start);
      mask = index[axis] >= e.size(start);
    }
    loop::Expr before_end;
    if (result) {
      before_end = index[axis] < e.size(end);
      mask = mask ? mask & before_end : before_end;
    }
    loop::Expr part = e.operand(i, at, mask);
    result = result ? loop::select(before_end, part, result) : part;
    end = start;
  }
  return result;
}

void vjp(Vjp& v) {
  size_t axis = axis_of(v.op);
  Dim start = 0;
  for (int i = 0; i < v.operand_count(); ++i) {
    const Shape& part = v.op.operand_type(i).shape;
    Shape starts(part.size(), Dim(0)), limits = part;
    starts[axis] = start;
    start = start + part[axis];
    limits[axis] = start;
    if (v.needs(i)) v.give(i, build::slice(v.b, v.cotangent(), starts, limits));
  }
}

constexpr AttrDef kAttrs[] = {{.name = "axis",
                               .kind = AttrKind::kInt,
                               .doc = "where they are joined; may count from the end"}};
constexpr Lowering kLowering{.element = element};
constexpr OpCase kCases[] = {{.operands = "f32[3, 4], f32[2, 4]", .attrs = "axis = 0"},
                             {.operands = "f32[3, 4], f32[3, 1], f32[3, 17]", .attrs = "axis = -1"},
                             {.operands = "f32[7]", .attrs = "axis = 0"},
                             {.operands = "f32[0, 2], f32[3, 2]", .attrs = "axis = 0"},
                             {.operands = "i64[2, 3, 2], i64[2, 1, 2]", .attrs = "axis = 1"},
                             {.operands = "f64[4097], f64[5]", .attrs = "axis = 0"}};

}  // namespace

constinit const OpDef kConcatOp{
    .name = "concat",
    .doc = "The operands joined along `axis`; other sizes are equal.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = -1,
    .result_type = result_type,
    .reference = reference,
    .vjp = vjp,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
