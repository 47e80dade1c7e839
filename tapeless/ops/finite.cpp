// Tests of floats: is_finite, is_nan.
#include <cmath>
#include <limits>

#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

loop::Expr is_finite_element(Elements& e, int, const Indices& index) {
  loop::Expr magnitude = loop::prim(loop::Prim::kAbs, {e.operand(0, index)});
  return magnitude < std::numeric_limits<double>::infinity();
}

constexpr Lowering kIsFiniteLowering{.element = is_finite_element, .pointwise = true};

}  // namespace

constinit const OpDef kIsFiniteOp{
    .name = "is_finite",
    .doc = "Whether x is neither infinite nor NaN, elementwise, as bool.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::float_to_bool,
    .reference = unary_reference<[](double x) { return std::isfinite(x); }>,
    .vjp = kZeroGradient,
    .lower = &kIsFiniteLowering,
    .cases = kUnaryCases,
};

constinit const OpDef kIsNanOp{
    .name = "is_nan",
    .doc = "Whether x is NaN, elementwise, as bool.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::float_to_bool,
    .reference = unary_reference<[](double x) { return std::isnan(x); }>,
    .vjp = kZeroGradient,
    .lower = &kUnaryLowering<loop::Prim::kIsNan>,
    .cases = kUnaryCases,
};

}  // namespace tapeless
