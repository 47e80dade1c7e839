// round_to and round_cotangent: the precision of a value on its way forward and back.
#include "tapeless/ops/build.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  DType to = q.attr<DType>("to");
  infer::require_float(q, 0);
  if (!is_float(to)) q.fail("expected a float dtype, got {}", dtype_name(to));
  return {q.operand(0)};
}

void round_reference(ReferenceCall& c) {
  c.out() = c.in(0).cast(c.op.attr<DType>("to")).cast(c.in(0).dtype());
}

void same_reference(ReferenceCall& c) { c.out() = c.in(0); }

loop::Expr round_element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  loop::Expr narrow = loop::cast(loop::elem_of(e.op.attr<DType>("to")), x);
  return loop::cast(loop::elem_of(e.op.result_type().dtype), narrow);
}

// Rounding is no part of the derivative: dx = dy, unrounded.
void round_vjp(Vjp& v) { v.give(0, v.cotangent()); }

// dx = dy, rounded
void cotangent_vjp(Vjp& v) {
  v.give(0, v.b.make(kRoundToOp, {v.cotangent()}, {{"to", v.op.attr<DType>("to")}}));
}

std::vector<Value*> same(Builder&, const Op&, std::span<Value* const> operands) {
  return {operands[0]};
}

constexpr AttrDef kAttrs[] = {
    {.name = "to", .kind = AttrKind::kDType, .doc = "the float dtype whose values are kept"}};
constexpr Lowering kLowering{.element = round_element, .pointwise = true};
constexpr OpCase kCases[] = {{.operands = "f32[3, 5]", .attrs = "to = bf16", .skip_gradient = true},
                             {.operands = "f32[0]", .attrs = "to = bf16", .skip_gradient = true},
                             {.operands = "f64[17]", .attrs = "to = f32", .skip_gradient = true}};

}  // namespace

constinit const OpDef kRoundToOp{
    .name = "round_to",
    .doc =
        "x rounded to the values of another float dtype, in its own: what `to` can hold. The "
        "gradient passes unrounded.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = round_reference,
    .vjp = round_vjp,
    .lower = &kLowering,
    .cases = kCases,
};

constinit const OpDef kRoundCotangentOp{
    .name = "round_cotangent",
    .doc = "x itself; its cotangent is rounded to the values of another float dtype.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = same_reference,
    .vjp = cotangent_vjp,
    .expand = same,
    .cases = kCases,
};

}  // namespace tapeless
