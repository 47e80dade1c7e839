// argmax and argmin: where the largest and the smallest element stand.
#include "tapeless/ops/reduce.h"

namespace tapeless {

namespace {

constexpr Reduction kArgMaxReduction{
    .kind = Reduction::Kind::kArgMax, .extents = reduce::extents, .element = reduce::element};
constexpr Reduction kArgMinReduction{
    .kind = Reduction::Kind::kArgMin, .extents = reduce::extents, .element = reduce::element};
constexpr Lowering kArgMaxLowering{.reduction = &kArgMaxReduction};
constexpr Lowering kArgMinLowering{.reduction = &kArgMinReduction};

std::vector<Type> result_type(const TypeQuery& q) {
  infer::require_numeric(q, 0);
  return {Type(DType::kI64, infer::reduce_any(q))};
}

// Elements of one result come in row-major order: their number is the position.
template <auto Wins>
void reference(ReferenceCall& c) {
  const Tensor& x = c.in(0);
  struct Best {
    int64_t at = -1, position = 0, seen = 0;
  };
  std::vector<Best> best(static_cast<size_t>(c.out().numel()));
  auto better = [&](int64_t a, int64_t b) {
    if (!is_float(x.dtype())) return Wins(x.get_int(a), x.get_int(b));
    double p = x.get(a), q = x.get(b);
    return q == q && (p != p || Wins(p, q));
  };
  reduce::for_each(c, [&](int64_t from, int64_t to) {
    Best& b = best[static_cast<size_t>(to)];
    if (b.at < 0 || better(from, b.at)) b = {from, b.seen, b.seen};
    ++b.seen;
  });
  for (size_t i = 0; i < best.size(); ++i)
    c.out().set_int(static_cast<int64_t>(i), best[i].position);
}

}  // namespace

constinit const OpDef kArgMaxOp{
    .name = "argmax",
    .doc =
        "The position of the largest element over `axes` (all where absent), counted in "
        "row-major order within them, as i64. The first of a tie; a NaN counts as largest.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reference<[](auto a, auto b) { return b < a; }>,
    .vjp = kZeroGradient,
    .lower = &kArgMaxLowering,
    .cases = reduce::kCases,
};

constinit const OpDef kArgMinOp{
    .name = "argmin",
    .doc =
        "The position of the smallest element over `axes` (all where absent), counted in "
        "row-major order within them, as i64. The first of a tie; a NaN counts as smallest.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reference<[](auto a, auto b) { return a < b; }>,
    .vjp = kZeroGradient,
    .lower = &kArgMinLowering,
    .cases = reduce::kCases,
};

}  // namespace tapeless
