// sub: the difference of two tensors.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// z = x - y: dx = dz, dy = -dz
void vjp(Vjp& v) {
  v.give(0, v.cotangent());
  if (v.needs(1)) v.give(1, build::neg(v.b, v.cotangent()));
}

}  // namespace

constinit const OpDef kSubOp{
    .name = "sub",
    .doc = "x - y, elementwise with NumPy broadcasting. Operands of one numeric dtype.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_numeric,
    .reference = binary_reference<[](auto x, auto y) { return x - y; }>,
    .vjp = vjp,
    .lower = &kBinaryLowering<loop::Prim::kSub>,
    .cases = kBinaryCases,
};

}  // namespace tapeless
