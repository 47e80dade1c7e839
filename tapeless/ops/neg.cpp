// neg: change of sign.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"
#include "tapeless/ops/rules.h"

namespace tapeless {

namespace {

// y = -x: dx = -dy
void vjp(Vjp& v) { v.give(0, build::neg(v.b, v.cotangent())); }

// -(-x) -> x
std::vector<Value*> undo(Builder&, const Op& op) {
  const Op* inner = rules::made_by(op.operand(0), kNegOp);
  return inner == nullptr ? std::vector<Value*>() : std::vector<Value*>{inner->operand(0)};
}

constexpr RewriteRule kRules[] = {undo};

}  // namespace

constinit const OpDef kNegOp{
    .name = "neg",
    .doc = "-x, elementwise.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_numeric,
    .reference = unary_reference<[](auto x) { return -x; }>,
    .vjp = vjp,
    .rules = kRules,
    .lower = &kUnaryLowering<loop::Prim::kNeg>,
    .cases = kUnaryCases,
};

}  // namespace tapeless
