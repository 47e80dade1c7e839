// any and all: reductions of bools.
#include "tapeless/ops/build.h"
#include "tapeless/ops/reduce.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  if (q.operand(0).dtype != DType::kBool) q.fail("expected bools, got {}", q.operand(0).str());
  return {Type(DType::kBool, infer::reduce_any(q))};
}

// How many hold, as i64; none of none.
Value* count(Builder& b, const Op& op, Value* x) {
  return build::sum(b, build::cast(b, x, DType::kI64), reduce::axes(op), op.flag("keepdims"));
}

std::vector<Value*> any_expansion(Builder& b, const Op& op, std::span<Value* const> operands) {
  return {build::gt(b, count(b, op, operands[0]), 0)};
}

std::vector<Value*> all_expansion(Builder& b, const Op& op, std::span<Value* const> operands) {
  Value* misses = count(b, op, b.make(kLogicalNotOp, {operands[0]}));
  return {build::eq(b, misses, 0.0)};
}

constexpr OpCase kCases[] = {
    {.operands = "bool[3, 4]", .integers = 2},
    {.operands = "bool[5, 3]", .attrs = "axes = [1]", .integers = 2},
    {.operands = "bool[3, 0]", .attrs = "axes = [1], keepdims = true", .integers = 2},
    {.operands = "bool[4097]", .integers = 2}};

}  // namespace

constinit const OpDef kAllOp{
    .name = "all",
    .doc = "Whether all hold over `axes` (all axes where absent), bools; true for none.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reduce::reference<[](auto a, auto b) { return a != 0 && b != 0; }, 1>,
    .vjp = kZeroGradient,
    .expand = all_expansion,
    .cases = kCases,
};

constinit const OpDef kAnyOp{
    .name = "any",
    .doc = "Whether one or more hold over `axes` (all axes where absent), bools; false for none.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reduce::reference<[](auto a, auto b) { return a != 0 || b != 0; }, 0>,
    .vjp = kZeroGradient,
    .expand = any_expansion,
    .cases = kCases,
};

}  // namespace tapeless
