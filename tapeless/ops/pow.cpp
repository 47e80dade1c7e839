// pow: x to the power of y.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// z = x^y: dx = dz y x^(y-1), which is 0 for y = 0 also at x = 0;
//          dy = dz z log x, which is 0 for x = 0 and y >= 0
void vjp(Vjp& v) {
  Builder& b = v.b;
  Value *x = v.operand(0), *y = v.operand(1), *dz = v.cotangent();
  if (v.needs(0)) {
    Value* less_one = build::sub(b, y, build::constant_like(b, y, 1));
    Value* slope = build::mul(b, y, b.make(kPowOp, {x, less_one}));
    give_guarded(v, 0, build::zero_where(b, build::eq(b, y, 0.0), build::mul(b, dz, slope)));
  }
  if (v.needs(1)) {
    Value* slope = build::mul(b, v.result(), build::log(b, x));
    Value* not_negative = b.make(kGeOp, {y, build::constant_like(b, y, 0)});
    Value* flat = b.make(kLogicalAndOp, {build::eq(b, x, 0.0), not_negative});
    give_guarded(v, 1, build::zero_where(b, flat, build::mul(b, dz, slope)));
  }
}

}  // namespace

constinit const OpDef kPowOp{
    .name = "pow",
    .doc =
        "x^y, elementwise with NumPy broadcasting, floats; x^0 = 1 for every x and its gradient "
        "is 0. A negative x needs a whole y.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_float,
    .reference =
        [](ReferenceCall& c) {
          binary_reference<[](auto x, auto y) { return std::pow(double(x), double(y)); }>(c);
        },
    .vjp = vjp,
    .lower = &kBinaryLowering<loop::Prim::kPow>,
    .cases = kPositiveBinaryCases,
};

}  // namespace tapeless
