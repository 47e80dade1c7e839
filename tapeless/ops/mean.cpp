// mean: reduction to the average.
#include "tapeless/ops/build.h"
#include "tapeless/ops/reduce.h"

namespace tapeless {

namespace {

void reference(ReferenceCall& c) {
  std::vector<double> sums(static_cast<size_t>(c.out().numel()));
  reduce::for_each(
      c, [&](int64_t from, int64_t to) { sums[static_cast<size_t>(to)] += c.in(0).get(from); });
  double count = 1;
  for (int64_t axis : reduce::axes(c.op)) count *= static_cast<double>(c.in(0).dim(int(axis)));
  for (size_t i = 0; i < sums.size(); ++i) c.out().set(static_cast<int64_t>(i), sums[i] / count);
}

std::vector<Value*> expand(Builder& b, const Op& op, std::span<Value* const> operands) {
  Value* sum = build::sum(b, operands[0], reduce::axes(op), op.flag("keepdims"));
  return {build::div(b, sum, build::numel(b, sum->type.dtype, reduce::extents(op)))};
}

// y = sum over axes of x / n: dx = dy / n, spread back over the axes
void vjp(Vjp& v) {
  Value* count = build::numel(v.b, v.cotangent()->type.dtype, reduce::extents(v.op));
  v.give(0, reduce::spread(v, build::div(v.b, v.cotangent(), count)));
}

}  // namespace

constinit const OpDef kMeanOp{
    .name = "mean",
    .doc =
        "The mean over `axes` (all axes where absent), floats: the sum divided by the count. The "
        "mean of nothing is NaN.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::reduce_float,
    .reference = reference,
    .vjp = vjp,
    .expand = expand,
    .cases = reduce::kCases,
};

}  // namespace tapeless
