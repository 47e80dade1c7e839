// add: the sum of two tensors.
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// z = x + y: dx = dz, dy = dz
void vjp(Vjp& v) {
  v.give(0, v.cotangent());
  v.give(1, v.cotangent());
}

}  // namespace

constinit const OpDef kAddOp{
    .name = "add",
    .doc = "x + y, elementwise with NumPy broadcasting. Operands of one numeric dtype.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_numeric,
    .reference = binary_reference<[](auto x, auto y) { return x + y; }>,
    .vjp = vjp,
    .lower = &kBinaryLowering<loop::Prim::kAdd>,
    .cases = kBinaryCases,
};

}  // namespace tapeless
