// stop_gradient: the identity, through which no cotangent flows.
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) { return {q.operand(0)}; }

void reference(ReferenceCall& c) {
  for (int64_t i = 0; i < c.out().numel(); ++i) copy_element(c.out(), i, c.in(0), i);
}

loop::Expr element(Elements& e, int, const Indices& index) { return e.operand(0, index); }

constexpr Lowering kLowering{.element = element, .alias = true};
// Differences see the identity, the rule does not.
constexpr OpCase kCases[] = {{.operands = "f32[3, 4]", .skip_gradient = true},
                             {.operands = "i64[0]"}};

}  // namespace

constinit const OpDef kStopGradientOp{
    .name = "stop_gradient",
    .doc = "x, treated as a constant by differentiation.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reference,
    .vjp = kZeroGradient,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
