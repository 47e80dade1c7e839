// iota: positions as values.
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  DType dtype = q.attr<DType>("dtype");
  if (!is_float(dtype) && !is_integer(dtype))
    q.fail("positions are numbers, got {}", dtype_name(dtype));
  const Shape& shape = q.attr<Shape>("shape");
  auto rank = static_cast<int64_t>(shape.size());
  int64_t axis = q.attr<int64_t>("axis");
  if (axis < -rank || axis >= rank) q.fail("axis {} is outside of {}", axis, shape_str(shape));
  return {Type(dtype, shape)};
}

size_t axis_of(const Op& op) {
  int64_t axis = op.integer("axis");
  return static_cast<size_t>(axis < 0 ? axis + op.result_type().rank() : axis);
}

void reference(ReferenceCall& c) {
  int64_t i = 0;
  for_each_index(c.out().shape(),
                 [&](const Extents& index) { c.out().set_int(i++, index[axis_of(c.op)]); });
}

loop::Expr element(Elements& e, int, const Indices& index) {
  return loop::cast(loop::elem_of(e.op.result_type().dtype), index[axis_of(e.op)]);
}

constexpr AttrDef kAttrs[] = {
    {.name = "shape", .kind = AttrKind::kShape, .doc = "shape of the result"},
    {.name = "axis", .kind = AttrKind::kInt, .fallback = int64_t{0}, .doc = "axis that is counted"},
    {.name = "dtype", .kind = AttrKind::kDType, .doc = "dtype of the result"}};
constexpr Lowering kLowering{.element = element};
constexpr OpCase kCases[] = {{.operands = "", .attrs = "shape = [17], dtype = i64"},
                             {.operands = "", .attrs = "shape = [3, 5], axis = 1, dtype = f32"},
                             {.operands = "", .attrs = "shape = [0, 5], axis = -2, dtype = i32"},
                             {.operands = "", .attrs = "shape = [4097], dtype = f64"}};

}  // namespace

constinit const OpDef kIotaOp{
    .name = "iota",
    .doc = "The position along `axis`, counted from 0, at every index of `shape`.",
    .attrs = kAttrs,
    .result_type = result_type,
    .reference = reference,
    .vjp = kZeroGradient,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
