// sub: the difference of two tensors.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"
#include "tapeless/ops/rules.h"

namespace tapeless {

namespace {

// z = x - y: dx = dz, dy = -dz
void vjp(Vjp& v) {
  v.give(0, v.cotangent());
  if (v.needs(1)) v.give(1, build::neg(v.b, v.cotangent()));
}

// x - (-y) -> x + y
std::vector<Value*> add_negated(Builder& b, const Op& op) {
  const Op* inner = rules::made_by(op.operand(1), kNegOp);
  if (inner == nullptr) return {};
  return {build::add(b, op.operand(0), inner->operand(0))};
}

constexpr RewriteRule kRules[] = {rules::drop_neutral<0.0, 1>, add_negated};

}  // namespace

constinit const OpDef kSubOp{
    .name = "sub",
    .doc = "x - y, elementwise with NumPy broadcasting. Operands of one numeric dtype.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_numeric,
    .reference = binary_reference<[](auto x, auto y) { return x - y; }>,
    .vjp = vjp,
    .rules = kRules,
    .lower = &kBinaryLowering<loop::Prim::kSub>,
    .cases = kBinaryCases,
};

}  // namespace tapeless
