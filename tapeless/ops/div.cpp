// div and reciprocal: quotients of floats.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"
#include "tapeless/ops/rules.h"

namespace tapeless {

namespace {

// z = x / y: dx = dz / y, dy = -(dz / y) z
void div_vjp(Vjp& v) {
  Value* dx = build::div(v.b, v.cotangent(), v.operand(1));
  if (v.needs(0)) give_guarded(v, 0, dx);
  if (v.needs(1)) give_guarded(v, 1, build::neg(v.b, build::mul(v.b, dx, v.result())));
}

// y = 1 / x: dx = -dy y^2
void reciprocal_vjp(Vjp& v) {
  Value* y = v.result();
  give_guarded(v, 0, build::neg(v.b, build::mul(v.b, build::mul(v.b, v.cotangent(), y), y)));
}

loop::Expr reciprocal_element(Elements& e, int, const Indices& index) {
  return 1.0 / e.operand(0, index);
}

constexpr Lowering kReciprocalLowering{.element = reciprocal_element, .pointwise = true};

constexpr RewriteRule kRules[] = {rules::drop_neutral<1.0, 1>};

}  // namespace

constinit const OpDef kDivOp{
    .name = "div",
    .doc =
        "x / y, elementwise with NumPy broadcasting, floats (integers: floor_div). Where the "
        "cotangent is 0 the gradients are 0, also for y = 0.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_float,
    .reference =
        [](ReferenceCall& c) {
          binary_reference<[](auto x, auto y) { return double(x) / double(y); }>(c);
        },
    .vjp = div_vjp,
    .rules = kRules,
    .lower = &kBinaryLowering<loop::Prim::kDiv>,
    .cases = kPositiveBinaryCases,
};

constinit const OpDef kReciprocalOp{
    .name = "reciprocal",
    .doc = "1 / x, elementwise, floats.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::same_float,
    .reference = unary_reference<[](double x) { return 1 / x; }>,
    .vjp = reciprocal_vjp,
    .lower = &kReciprocalLowering,
    .cases = kPositiveUnaryCases,
};

}  // namespace tapeless
