// abs and sign.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

struct Magnitude {
  double operator()(double x) const { return std::fabs(x); }
  int64_t operator()(int64_t x) const { return x < 0 ? -x : x; }
};

// 1, -1 or x itself: a zero of either sign and NaN stay as they are.
struct Sign {
  template <class T>
  T operator()(T x) const {
    return x > 0 ? T(1) : x < 0 ? T(-1) : x;
  }
};

loop::Expr sign_element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  loop::Expr not_positive = loop::select(x < 0, loop::literal_like(x, -1), x);
  return loop::select(x > 0, loop::literal_like(x, 1), not_positive);
}

// y = |x|: dx = dy sign(x), 0 at 0
void abs_vjp(Vjp& v) {
  v.give(0, build::mul(v.b, v.cotangent(), v.b.make(kSignOp, {v.operand(0)})));
}

constexpr Lowering kSignLowering{.element = sign_element, .pointwise = true};

}  // namespace

constinit const OpDef kAbsOp{
    .name = "abs",
    .doc = "|x|, elementwise. The gradient at 0 is 0.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_numeric,
    .reference = unary_reference<Magnitude{}>,
    .vjp = abs_vjp,
    .lower = &kUnaryLowering<loop::Prim::kAbs>,
    .cases = kUnaryCases,
};

constinit const OpDef kSignOp{
    .name = "sign",
    .doc = "1, 0 or -1 as x is above, at or below 0, elementwise; NaN stays. No gradient flows.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_numeric,
    .reference = unary_reference<Sign{}>,
    .vjp = kZeroGradient,
    .lower = &kSignLowering,
    .cases = kUnaryCases,
};

}  // namespace tapeless
