// tanh: the hyperbolic tangent.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// y = tanh x: dx = dy (1 - y^2) = dy - dy y y
void vjp(Vjp& v) {
  Value* y = v.result();
  Value* slope = build::mul(v.b, build::mul(v.b, v.cotangent(), y), y);
  v.give(0, build::add(v.b, v.cotangent(), build::neg(v.b, slope)));
}

}  // namespace

constinit const OpDef kTanhOp{
    .name = "tanh",
    .doc = "tanh(x), elementwise, floats; at most 2 ulp in f32.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::tanh(x); }>,
    .vjp = vjp,
    .lower = &kUnaryLowering<loop::Prim::kTanh>,
    .cases = kUnaryCases,
};

}  // namespace tapeless
