// log and log1p: natural logarithms.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// y = log x: dx = dy / x
void log_vjp(Vjp& v) { give_guarded(v, 0, build::div(v.b, v.cotangent(), v.operand(0))); }

// y = log(1 + x): dx = dy / (1 + x)
void log1p_vjp(Vjp& v) {
  Value* shifted = build::add(v.b, v.operand(0), build::constant_like(v.b, v.operand(0), 1));
  give_guarded(v, 0, build::div(v.b, v.cotangent(), shifted));
}

}  // namespace

constinit const OpDef kLogOp{
    .name = "log",
    .doc =
        "The natural logarithm, elementwise, floats; at most 2 ulp in f32. Where the cotangent "
        "is 0 the gradient is 0, also for x <= 0.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::log(x); }>,
    .vjp = log_vjp,
    .lower = &kUnaryLowering<loop::Prim::kLog>,
    .cases = kPositiveUnaryCases,
};

constinit const OpDef kLog1pOp{
    .name = "log1p",
    .doc = "log(1 + x), elementwise, floats; exact to 2 ulp in f32 also near 0.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::log1p(x); }>,
    .vjp = log1p_vjp,
    .lower = &kUnaryLowering<loop::Prim::kLog1p>,
    .cases = kPositiveUnaryCases,
};

}  // namespace tapeless
