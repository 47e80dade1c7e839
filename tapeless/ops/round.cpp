// Rounding to whole numbers: ceil, floor, round.
#include <cmath>

#include "tapeless/ops/pointwise.h"

namespace tapeless {

constinit const OpDef kCeilOp{
    .name = "ceil",
    .doc = "The smallest whole number not below x, elementwise, floats. No gradient flows.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::ceil(x); }>,
    .vjp = kZeroGradient,
    .lower = &kUnaryLowering<loop::Prim::kCeil>,
    .cases = kUnaryCases,
};

constinit const OpDef kFloorOp{
    .name = "floor",
    .doc = "The largest whole number not above x, elementwise, floats. No gradient flows.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::floor(x); }>,
    .vjp = kZeroGradient,
    .lower = &kUnaryLowering<loop::Prim::kFloor>,
    .cases = kUnaryCases,
};

constinit const OpDef kRoundOp{
    .name = "round",
    .doc =
        "The nearest whole number, halves to the even one, elementwise, floats. No gradient "
        "flows.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::nearbyint(x); }>,
    .vjp = kZeroGradient,
    .lower = &kUnaryLowering<loop::Prim::kRoundEven>,
    .cases = kUnaryCases,
};

}  // namespace tapeless
