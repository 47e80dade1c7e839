// The context of gradient rules, and the rules that ops share.
#include "tapeless/ops/vjp.h"

#include "tapeless/ops/build.h"

namespace tapeless {

void Vjp::give(int i, Value* cotangent) {
  TL_CHECK(given_[static_cast<size_t>(i)] == nullptr, "[{}] operand {} given twice", op.name(), i);
  if (needs(i)) given_[static_cast<size_t>(i)] = cotangent;
}

void kNoGradient(Vjp& v) { compile_error(v.op.loc, "[{}] is not differentiable", v.op.name()); }

void kZeroGradient(Vjp&) {}

void give_guarded(Vjp& v, int i, Value* dx) {
  v.give(i, build::zero_where(v.b, build::eq(v.b, v.cotangent(), 0.0), dx));
}

}  // namespace tapeless
