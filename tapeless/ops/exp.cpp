// exp and expm1.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// y = e^x: dx = dy y
void exp_vjp(Vjp& v) { give_guarded(v, 0, build::mul(v.b, v.cotangent(), v.result())); }

// y = e^x - 1: dx = dy (y + 1), in the form that stays right for y near -1
void expm1_vjp(Vjp& v) {
  give_guarded(v, 0, build::mul(v.b, v.cotangent(), build::exp(v.b, v.operand(0))));
}

}  // namespace

constinit const OpDef kExpOp{
    .name = "exp",
    .doc = "e^x, elementwise, floats; at most 2 ulp in f32.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::exp(x); }>,
    .vjp = exp_vjp,
    .lower = &kUnaryLowering<loop::Prim::kExp>,
    .cases = kUnaryCases,
};

constinit const OpDef kExpm1Op{
    .name = "expm1",
    .doc = "e^x - 1, elementwise, floats; exact to 2 ulp in f32 also near 0.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::expm1(x); }>,
    .vjp = expm1_vjp,
    .lower = &kUnaryLowering<loop::Prim::kExpm1>,
    .cases = kUnaryCases,
};

}  // namespace tapeless
