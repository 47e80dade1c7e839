// The context of gradient rules, and the two rules that say there is no gradient.
#include "tapeless/ops/vjp.h"

namespace tapeless {

void Vjp::give(int i, Value* cotangent) {
  TL_CHECK(given_[static_cast<size_t>(i)] == nullptr, "[{}] operand {} given twice", op.name(), i);
  if (needs(i)) given_[static_cast<size_t>(i)] = cotangent;
}

void kNoGradient(Vjp& v) {
  compile_error(v.op.loc, "[{}] is not differentiable", v.op.name());
}

void kZeroGradient(Vjp&) {}

}  // namespace tapeless
