// relu and its leaky and exponential forms.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

loop::Expr relu_element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  return loop::max(x, loop::literal_like(x, 0));
}

// dx = dy where y > 0: the result tells as much as the operand
void relu_vjp(Vjp& v) {
  v.give(0, build::keep_where(v.b, build::gt(v.b, v.result(), 0), v.cotangent()));
}

void leaky_reference(ReferenceCall& c) {
  for (int64_t i = 0, n = c.out().numel(); i < n; ++i) {
    double x = c.in(0).get(i);
    c.out().set(i, x > 0 ? x : x * c.op.real("slope"));
  }
}

loop::Expr leaky_element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  return loop::select(x > 0, x, x * e.op.real("slope"));
}

// dx = dy where x > 0, else slope dy
void leaky_vjp(Vjp& v) {
  Value* scaled = build::mul(v.b, v.cotangent(), v.op.real("slope"));
  v.give(0, build::where(v.b, build::gt(v.b, v.operand(0), 0), v.cotangent(), scaled));
}

void elu_reference(ReferenceCall& c) {
  for (int64_t i = 0, n = c.out().numel(); i < n; ++i) {
    double x = c.in(0).get(i);
    c.out().set(i, x > 0 ? x : c.op.real("alpha") * std::expm1(x));
  }
}

loop::Expr elu_element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  return loop::select(x > 0, x, loop::prim(loop::Prim::kExpm1, {x}) * e.op.real("alpha"));
}

// dx = dy where x > 0, else alpha e^x dy
void elu_vjp(Vjp& v) {
  Value *x = v.operand(0), *dy = v.cotangent();
  Value* slope = build::mul(v.b, build::exp(v.b, x), v.op.real("alpha"));
  v.give(0, build::where(v.b, build::gt(v.b, x, 0), dy, build::mul(v.b, dy, slope)));
}

constexpr AttrDef kLeakyAttrs[] = {
    {.name = "slope", .kind = AttrKind::kReal, .fallback = 0.01, .doc = "slope below 0"}};
constexpr AttrDef kEluAttrs[] = {
    {.name = "alpha", .kind = AttrKind::kReal, .fallback = 1.0, .doc = "minus the lower limit"}};
constexpr Lowering kReluLowering{.element = relu_element, .pointwise = true};
constexpr Lowering kLeakyLowering{.element = leaky_element, .pointwise = true};
constexpr Lowering kEluLowering{.element = elu_element, .pointwise = true};
constexpr OpCase kLeakyCases[] = {{.operands = "f32[3, 4]"},
                                  {.operands = "f32[0, 4]"},
                                  {.operands = "f32[4097]", .attrs = "slope = 0.2"},
                                  {.operands = "f64[7]"}};
constexpr OpCase kEluCases[] = {{.operands = "f32[3, 4]"},
                                {.operands = "f32[0, 4]"},
                                {.operands = "f32[4097]", .attrs = "alpha = 1.5"},
                                {.operands = "f64[7]"}};

}  // namespace

constinit const OpDef kReluOp{
    .name = "relu",
    .doc = "x where x > 0, else 0, elementwise; NaN stays. The gradient at 0 is 0.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_numeric,
    .reference = unary_reference<[](auto x) { return x <= 0 ? decltype(x)(0) : x; }>,
    .vjp = relu_vjp,
    .lower = &kReluLowering,
    .cases = kUnaryCases,
};

constinit const OpDef kLeakyReluOp{
    .name = "leaky_relu",
    .doc = "x where x > 0, else slope x, elementwise, floats. The gradient at 0 is slope.",
    .attrs = kLeakyAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = leaky_reference,
    .vjp = leaky_vjp,
    .lower = &kLeakyLowering,
    .cases = kLeakyCases,
};

constinit const OpDef kEluOp{
    .name = "elu",
    .doc = "x where x > 0, else alpha (e^x - 1), elementwise, floats.",
    .attrs = kEluAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = elu_reference,
    .vjp = elu_vjp,
    .lower = &kEluLowering,
    .cases = kEluCases,
};

}  // namespace tapeless
