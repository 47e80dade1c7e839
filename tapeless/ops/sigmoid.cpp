// sigmoid, and what is made of it: silu and softplus.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// y = 1 / (1 + e^-x): dx = dy y (1 - y)
void sigmoid_vjp(Vjp& v) {
  Value* y = v.result();
  v.give(0, build::mul(v.b, build::mul(v.b, v.cotangent(), y), build::one_minus(v.b, y)));
}

loop::Expr silu_element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  return x * loop::prim(loop::Prim::kSigmoid, {x});
}

// y = x s, s = sigmoid x: dx = dy s (1 + x (1 - s))
void silu_vjp(Vjp& v) {
  Builder& b = v.b;
  Value* x = v.operand(0);
  Value* s = build::sigmoid(b, x);
  Value* bracket = build::mul(b, x, build::one_minus(b, s));
  bracket = build::add(b, bracket, build::constant_like(b, x, 1));
  v.give(0, build::mul(b, v.cotangent(), build::mul(b, s, bracket)));
}

// max(x, 0) + log1p(e^-|x|): nothing overflows
loop::Expr softplus_element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  loop::Expr tail = loop::prim(loop::Prim::kExp, {-loop::prim(loop::Prim::kAbs, {x})});
  return loop::max(x, loop::literal_like(x, 0)) + loop::prim(loop::Prim::kLog1p, {tail});
}

// y = log(1 + e^x): dx = dy sigmoid x
void softplus_vjp(Vjp& v) {
  v.give(0, build::mul(v.b, v.cotangent(), build::sigmoid(v.b, v.operand(0))));
}

constexpr Lowering kSiluLowering{.element = silu_element, .pointwise = true};
constexpr Lowering kSoftplusLowering{.element = softplus_element, .pointwise = true};

}  // namespace

constinit const OpDef kSigmoidOp{
    .name = "sigmoid",
    .doc = "1 / (1 + e^-x), elementwise, floats; at most 2 ulp in f32.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<sigmoid>,
    .vjp = sigmoid_vjp,
    .lower = &kUnaryLowering<loop::Prim::kSigmoid>,
    .cases = kUnaryCases,
};

constinit const OpDef kSiluOp{
    .name = "silu",
    .doc = "x sigmoid(x), elementwise, floats; also called swish.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return x * sigmoid(x); }>,
    .vjp = silu_vjp,
    .lower = &kSiluLowering,
    .cases = kUnaryCases,
};

constinit const OpDef kSoftplusOp{
    .name = "softplus",
    .doc = "log(1 + e^x), elementwise, floats, as max(x, 0) + log1p(e^-|x|): no overflow.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) {
      return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
    }>,
    .vjp = softplus_vjp,
    .lower = &kSoftplusLowering,
    .cases = kUnaryCases,
};

}  // namespace tapeless
