#pragma once

#include "tapeless/ir/module.h"

namespace tapeless {

/// Multiply-adds of a contraction at these sizes, times two; zero for any other op.
double contraction_flops(const Op& op, const SymbolValues& sizes);

/// What a region does in one call, roughly: `element_cost` of every element (fuse/cost.h), the
/// flops of its contraction, and each of its operands and results moved once.
struct Work {
  double flops = 0;
  double bytes = 0;
};
Work region_work(const Function& region, const SymbolValues& sizes);

}  // namespace tapeless
