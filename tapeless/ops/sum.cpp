// sum: reduction by addition.
#include <algorithm>

#include "tapeless/ops/build.h"
#include "tapeless/ops/reduce.h"

namespace tapeless {

namespace {

constexpr Reduction kReduction{
    .kind = Reduction::Kind::kSum, .extents = reduce::extents, .element = reduce::element};
constexpr Lowering kLowering{.reduction = &kReduction};

// y = sum over axes of x: dx = dy, spread back over the axes
void vjp(Vjp& v) { v.give(0, reduce::spread(v, v.cotangent())); }

}  // namespace

constinit const OpDef kSumOp{
    .name = "sum",
    .doc = "The sum over `axes` (all axes where absent). An empty sum is 0.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::reduce_numeric,
    .reference = reduce::reference<[](auto a, auto b) { return a + b; }, 0>,
    .vjp = vjp,
    .lower = &kLowering,
    .cases = reduce::kCases,
};

}  // namespace tapeless
