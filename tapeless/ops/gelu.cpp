// erf, and gelu in its exact and its tanh form.
#include <cmath>
#include <numbers>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

constexpr double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi;
constexpr double kSqrtHalf = std::numbers::sqrt2 / 2;
// The tanh form: gelu(x) = x/2 (1 + tanh(kScale (x + kCubic x^3)))
constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kCubic = 0.044715;

// y = erf x: dx = dy 2/sqrt(pi) e^(-x^2)
void erf_vjp(Vjp& v) {
  Builder& b = v.b;
  Value* x = v.operand(0);
  Value* bell = build::exp(b, build::neg(b, build::mul(b, x, x)));
  v.give(0, build::mul(b, v.cotangent(), build::mul(b, bell, kTwoOverSqrtPi)));
}

bool is_tanh(const Op& op) { return op.text("approximate") == "tanh"; }

std::vector<Type> gelu_type(const TypeQuery& q) {
  const auto& form = q.attr<std::string>("approximate");
  if (form != "none" && form != "tanh") q.fail("approximate must be none or tanh, got {}", form);
  return infer::same_float(q);
}

void gelu_reference(ReferenceCall& c) {
  for (int64_t i = 0, n = c.out().numel(); i < n; ++i) {
    double x = c.in(0).get(i);
    double inner =
        is_tanh(c.op) ? std::tanh(kScale * (x + kCubic * x * x * x)) : std::erf(x * kSqrtHalf);
    c.out().set(i, 0.5 * x * (1 + inner));
  }
}

loop::Expr gelu_element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  loop::Expr inner = is_tanh(e.op)
                         ? loop::prim(loop::Prim::kTanh, {(x + x * x * x * kCubic) * kScale})
                         : loop::prim(loop::Prim::kErf, {x * kSqrtHalf});
  return x * 0.5 * (inner + 1.0);
}

// t = tanh u: dx = dy (1/2 (1 + t) + 1/2 x (1 - t^2) u')
Value* tanh_slope(Builder& b, Value* x) {
  Value* square = build::mul(b, x, x);
  Value* one = build::constant_like(b, x, 1);
  Value* u = build::mul(b, x, build::add(b, one, build::mul(b, square, kCubic)));
  Value* t = build::tanh(b, build::mul(b, u, kScale));
  Value* du = build::mul(b, build::add(b, one, build::mul(b, square, 3 * kCubic)), kScale);
  Value* rise = build::mul(b, build::one_minus(b, build::mul(b, t, t)), build::mul(b, x, du));
  return build::mul(b, build::add(b, build::add(b, one, t), rise), 0.5);
}

// dx = dy (1/2 (1 + erf(x/sqrt 2)) + x e^(-x^2/2) / sqrt(2 pi))
Value* erf_slope(Builder& b, Value* x) {
  Value* one = build::constant_like(b, x, 1);
  Value* below = build::add(b, one, b.make(kErfOp, {build::mul(b, x, kSqrtHalf)}));
  Value* bell = build::exp(b, build::mul(b, build::mul(b, x, x), -0.5));
  Value* rise = build::mul(b, build::mul(b, x, bell), kSqrtHalf * std::numbers::inv_sqrtpi);
  return build::add(b, build::mul(b, below, 0.5), rise);
}

void gelu_vjp(Vjp& v) {
  Value* x = v.operand(0);
  Value* slope = is_tanh(v.op) ? tanh_slope(v.b, x) : erf_slope(v.b, x);
  v.give(0, build::mul(v.b, v.cotangent(), slope));
}

constexpr AttrDef kGeluAttrs[] = {{.name = "approximate",
                                   .kind = AttrKind::kString,
                                   .fallback = std::string_view("none"),
                                   .doc = "none: by erf, exact; tanh: by the tanh formula"}};
constexpr Lowering kGeluLowering{.element = gelu_element, .pointwise = true};
constexpr OpCase kGeluCases[] = {{.operands = "f32[3, 4]"},
                                 {.operands = "f32[3, 4]", .attrs = "approximate = tanh"},
                                 {.operands = "f32[0, 4]"},
                                 {.operands = "f64[17]"},
                                 {.operands = "f64[7]", .attrs = "approximate = tanh"},
                                 {.operands = "f32[4097]", .low = -6, .high = 6}};

}  // namespace

constinit const OpDef kErfOp{
    .name = "erf",
    .doc = "The error function, elementwise, floats; at most 2 ulp in f32.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return std::erf(x); }>,
    .vjp = erf_vjp,
    .lower = &kUnaryLowering<loop::Prim::kErf>,
    .cases = kUnaryCases,
};

constinit const OpDef kGeluOp{
    .name = "gelu",
    .doc = "x Phi(x), Phi the normal distribution, elementwise, floats.",
    .attrs = kGeluAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = gelu_type,
    .reference = gelu_reference,
    .vjp = gelu_vjp,
    .lower = &kGeluLowering,
    .cases = kGeluCases,
};

}  // namespace tapeless
