// square: x times x.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// y = x^2: dx = 2 dy x
void vjp(Vjp& v) { v.give(0, build::mul(v.b, build::mul(v.b, v.cotangent(), v.operand(0)), 2)); }

loop::Expr element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  return x * x;
}

constexpr Lowering kLowering{.element = element, .pointwise = true};

}  // namespace

constinit const OpDef kSquareOp{
    .name = "square",
    .doc = "x * x, elementwise.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_numeric,
    .reference = unary_reference<[](auto x) { return x * x; }>,
    .vjp = vjp,
    .lower = &kLowering,
    .cases = kUnaryCases,
};

}  // namespace tapeless
