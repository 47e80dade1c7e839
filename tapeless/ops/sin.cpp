// sin and cos.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// y = sin x: dx = dy cos x
void sin_vjp(Vjp& v) {
  v.give(0, build::mul(v.b, v.cotangent(), v.b.make(kCosOp, {v.operand(0)})));
}

// y = cos x: dx = -dy sin x
void cos_vjp(Vjp& v) {
  Value* slope = build::mul(v.b, v.cotangent(), v.b.make(kSinOp, {v.operand(0)}));
  v.give(0, build::neg(v.b, slope));
}

}  // namespace

constinit const OpDef kSinOp{
    .name = "sin",
    .doc = "The sine of x in radians, elementwise, floats.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::sin(x); }>,
    .vjp = sin_vjp,
    .lower = &kUnaryLowering<loop::Prim::kSin>,
    .cases = kUnaryCases,
};

constinit const OpDef kCosOp{
    .name = "cos",
    .doc = "The cosine of x in radians, elementwise, floats.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::cos(x); }>,
    .vjp = cos_vjp,
    .lower = &kUnaryLowering<loop::Prim::kCos>,
    .cases = kUnaryCases,
};

}  // namespace tapeless
