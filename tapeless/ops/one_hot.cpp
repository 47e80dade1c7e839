// one_hot: an index as a vector.
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  infer::require_integer(q, 0);
  int64_t depth = q.attr<int64_t>("depth");
  if (depth < 0) q.fail("`depth` may not be negative, got {}", depth);
  DType dtype = q.has("dtype") ? q.attr<DType>("dtype") : DType::kF32;
  if (dtype == DType::kKey) q.fail("the result is made of numbers, not of keys");
  Shape shape = q.operand(0).shape;
  shape.emplace_back(depth);
  return {Type(dtype, shape)};
}

void reference(ReferenceCall& c) {
  int64_t depth = c.op.integer("depth");
  for (int64_t i = 0; i < c.out().numel(); ++i)
    c.out().set(i, c.in(0).get_int(i / depth) == i % depth ? 1 : 0);
}

loop::Expr element(Elements& e, int, const Indices& index) {
  loop::Expr class_index =
      loop::cast(loop::Elem::kI64, e.operand(0, Indices(index.begin(), index.end() - 1)));
  loop::Expr hot = loop::eq(class_index, index.back());
  loop::Type type = scalar_type(e.op.result_type().dtype);
  if (type.elem == loop::Elem::kBool) return hot;
  return loop::select(hot, loop::constant(type, 1), loop::constant(type, 0));
}

constexpr AttrDef kAttrs[] = {
    {.name = "depth", .kind = AttrKind::kInt, .doc = "number of classes: the last axis"},
    {.name = "dtype", .kind = AttrKind::kDType, .optional = true, .doc = "f32 if absent"}};
constexpr Lowering kLowering{.element = element};
constexpr OpCase kCases[] = {
    {.operands = "i64[5]", .attrs = "depth = 4"},
    {.operands = "i32[2, 3]", .attrs = "depth = 17, dtype = f64", .integers = 20},
    {.operands = "i64[0]", .attrs = "depth = 3"},
    {.operands = "i64[7]", .attrs = "depth = 3, dtype = bool"}};

}  // namespace

constinit const OpDef kOneHotOp{
    .name = "one_hot",
    .doc =
        "1 at the index, 0 elsewhere, along a new last axis of `depth`. An index outside of "
        "[0, depth) gives zeros.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reference,
    .vjp = kZeroGradient,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
