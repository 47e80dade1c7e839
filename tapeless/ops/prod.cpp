// prod: reduction by multiplication.
#include "tapeless/ops/build.h"
#include "tapeless/ops/reduce.h"

namespace tapeless {

namespace {

constexpr Reduction kReduction{
    .kind = Reduction::Kind::kProd, .extents = reduce::extents, .element = reduce::element};
constexpr Lowering kLowering{.reduction = &kReduction};

// y = product of x. With p the product of what is not 0, in groups of
//   no zero:   dx = dy p / x;
//   one zero:  dx = dy p at the zero, 0 elsewhere;
//   more:      dx = 0.
void vjp(Vjp& v) {
  Builder& b = v.b;
  Value* x = v.operand(0);
  Ints axes = reduce::axes(v.op);
  bool keepdims = v.op.flag("keepdims");
  Value* one = build::constant_like(b, x, 1);
  Value* is_zero = build::eq(b, x, 0.0);
  Value* zeros = build::sum(b, build::cast(b, is_zero, x->type.dtype), axes, keepdims);
  Value* factors = build::where(b, is_zero, one, x);
  Value* p = b.make(kProdOp, {factors}, {{"axes", axes}, {"keepdims", keepdims}});
  Value* scaled = build::mul(b, v.cotangent(), p);
  Value* at_zero = build::keep_where(b, build::eq(b, zeros, 1), scaled);
  Value* elsewhere = build::keep_where(b, build::eq(b, zeros, 0.0), scaled);
  v.give(0, build::where(b, is_zero, reduce::spread(v, at_zero),
                         build::div(b, reduce::spread(v, elsewhere), factors)));
}

}  // namespace

constinit const OpDef kProdOp{
    .name = "prod",
    .doc =
        "The product over `axes` (all axes where absent). An empty product is 1. The gradient is "
        "right at zeros too; second derivatives only where no factor is 0.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::reduce_numeric,
    .reference = reduce::reference<[](auto a, auto b) { return a * b; }, 1>,
    .vjp = vjp,
    .lower = &kLowering,
    .cases = reduce::kCases,
};

}  // namespace tapeless
