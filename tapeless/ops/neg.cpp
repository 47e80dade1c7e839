// neg: change of sign.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// y = -x: dx = -dy
void vjp(Vjp& v) { v.give(0, build::neg(v.b, v.cotangent())); }

}  // namespace

constinit const OpDef kNegOp{
    .name = "neg",
    .doc = "-x, elementwise.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_numeric,
    .reference = unary_reference<[](auto x) { return -x; }>,
    .vjp = vjp,
    .lower = &kUnaryLowering<loop::Prim::kNeg>,
    .cases = kUnaryCases,
};

}  // namespace tapeless
