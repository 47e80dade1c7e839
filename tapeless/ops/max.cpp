// max and min: reductions to the largest and the smallest element.
#include "tapeless/ops/build.h"
#include "tapeless/ops/reduce.h"

namespace tapeless {

namespace {

constexpr Reduction kMaxReduction{
    .kind = Reduction::Kind::kMax, .extents = reduce::extents, .element = reduce::element};
constexpr Reduction kMinReduction{
    .kind = Reduction::Kind::kMin, .extents = reduce::extents, .element = reduce::element};
constexpr Lowering kMaxLowering{.reduction = &kMaxReduction};
constexpr Lowering kMinLowering{.reduction = &kMinReduction};

std::vector<Type> result_type(const TypeQuery& q) {
  std::vector<Type> types = infer::reduce_numeric(q);
  const Shape& shape = q.operand(0).shape;
  for (int64_t axis : infer::reduced_axes(q.attrs, q.operand(0).rank()))
    if (shape[static_cast<size_t>(axis)].is(0)) q.fail("nothing to reduce: {}", q.operand(0).str());
  return types;
}

// The first element, then whatever `wins` prefers. A NaN wins and is never replaced.
template <auto Wins>
void reference(ReferenceCall& c) {
  std::vector<int64_t> best(static_cast<size_t>(c.out().numel()), -1);
  const Tensor& x = c.in(0);
  auto better = [&](int64_t a, int64_t b) {
    if (!is_float(x.dtype())) return Wins(x.get_int(a), x.get_int(b));
    double p = x.get(a), q = x.get(b);
    return q == q && (p != p || Wins(p, q));
  };
  reduce::for_each(c, [&](int64_t from, int64_t to) {
    int64_t& at = best[static_cast<size_t>(to)];
    if (at < 0 || better(from, at)) at = from;
  });
  for (size_t i = 0; i < best.size(); ++i) {
    auto to = static_cast<int64_t>(i);
    TL_CHECK(best[i] >= 0, "max or min of nothing");
    is_float(x.dtype()) ? c.out().set(to, x.get(best[i])) : c.out().set_int(to, x.get_int(best[i]));
  }
}

// dx = dy shared equally by the elements that equal y
void vjp(Vjp& v) {
  Builder& b = v.b;
  Value* x = v.operand(0);
  Value* ties = build::eq(b, x, reduce::spread(v, v.result()));
  Value* count =
      build::sum(b, build::cast(b, ties, x->type.dtype), reduce::axes(v.op), v.op.flag("keepdims"));
  Value* share = build::div(b, v.cotangent(), count);
  v.give(0, build::keep_where(b, ties, reduce::spread(v, share)));
}

}  // namespace

constinit const OpDef kMaxOp{
    .name = "max",
    .doc =
        "The largest element over `axes` (all axes where absent); NaN if there is one. Elements "
        "that tie share the gradient equally.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reference<[](auto a, auto b) { return b < a; }>,
    .vjp = vjp,
    .lower = &kMaxLowering,
    .cases = reduce::kCases,
};

constinit const OpDef kMinOp{
    .name = "min",
    .doc =
        "The smallest element over `axes` (all axes where absent); NaN if there is one. Elements "
        "that tie share the gradient equally.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reference<[](auto a, auto b) { return a < b; }>,
    .vjp = vjp,
    .lower = &kMinLowering,
    .cases = reduce::kCases,
};

}  // namespace tapeless
