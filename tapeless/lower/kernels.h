#pragma once

#include <functional>

#include "tapeless/ir/op_def.h"
#include "tapeless/lower/lower.h"
#include "tapeless/lower/region.h"

// The kinds of kernels; one file each.
namespace tapeless::lowering {

/// The op of a region that is not defined by its elements, or null.
const Op* heavy_op(const Function& region);

/// Stores the elements of all results of the region at `index`; all are computed before the first
/// is stored, since results may lie in the memory of parameters.
void store_results(Region& region, loop::Body& body, const Indices& index);

/// A loop over [0, extent) that runs on vectors of `lanes` where it can.
void vector_loop(loop::Body& body, const std::string& name, loop::Expr extent, int lanes,
                 const loop::Body::LoopFn& fn);

LoweredKernel lower_elementwise(const Function& region, const loop::Machine& machine);
LoweredKernel lower_reduction(const Function& region, const Op& op, const loop::Machine& machine);
LoweredKernel lower_contraction(const Function& region, const Op& op, const loop::Machine& machine);
std::vector<LoweredKernel> lower_scatter(const Function& region, const Op& op,
                                         const loop::Machine& machine);

/// Which neighbouring axes of `space` are treated alike by all values that `roots` are made from,
/// so that a loop may run over both at once: lengths of runs, in order; they add up to the rank.
/// The values must be made by pointwise ops alone, else every axis is a run of its own.
std::vector<int> collapsible_runs(std::span<Value* const> roots, const Shape& space);

}  // namespace tapeless::lowering
