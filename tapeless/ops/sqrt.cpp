// sqrt and rsqrt.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// y = sqrt x: dx = dy / (2 y), and 0 at x = 0, so that sqrt(sum(x^2)) has gradient 0 at the origin
void sqrt_vjp(Vjp& v) {
  Builder& b = v.b;
  Value* dx = build::div(b, build::mul(b, v.cotangent(), 0.5), v.result());
  give_guarded(v, 0, build::zero_where(b, build::eq(b, v.result(), 0.0), dx));
}

// y = x^(-1/2): dx = -dy y^3 / 2
void rsqrt_vjp(Vjp& v) {
  Builder& b = v.b;
  Value* y = v.result();
  Value* cube = build::mul(b, build::mul(b, y, y), y);
  give_guarded(v, 0, build::mul(b, build::mul(b, v.cotangent(), cube), -0.5));
}

}  // namespace

constinit const OpDef kSqrtOp{
    .name = "sqrt",
    .doc =
        "The square root, elementwise, floats, correctly rounded. The gradient at 0 is 0: the "
        "norm sqrt(sum(x^2)) then has gradient 0 at the origin.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::sqrt(x); }>,
    .vjp = sqrt_vjp,
    .lower = &kUnaryLowering<loop::Prim::kSqrt>,
    .cases = kPositiveUnaryCases,
};

constinit const OpDef kRsqrtOp{
    .name = "rsqrt",
    .doc = "1 / sqrt(x), elementwise, floats; at most 2 ulp in f32.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return 1 / std::sqrt(x); }>,
    .vjp = rsqrt_vjp,
    .lower = &kUnaryLowering<loop::Prim::kRsqrt>,
    .cases = kPositiveUnaryCases,
};

}  // namespace tapeless
