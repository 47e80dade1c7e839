#pragma once

#include <string>
#include <vector>

#include "tapeless/ir/module.h"
#include "tapeless/loop/loop.h"
#include "tapeless/loop/machine.h"

namespace tapeless {

/// One kernel of a region and what its caller passes.
struct LoweredKernel {
  loop::Kernel kernel;
  /// For each buffer that is passed: a parameter of the region (0 ...) or, behind the
  /// parameters, a result.
  std::vector<int> slots;
  /// For each size: the symbol's name, or "@threads": how many threads share the tasks.
  std::vector<std::string> symbols;
  /// Its kind and how it was cut, for explain.
  std::string how;
};

struct LoweredRegion {
  std::vector<LoweredKernel> kernels;
};

/// A region (see fuse/) as kernels for this machine:
///   no heavy op   one loop nest that stores every result
///   reduction     a loop over results around one over the reduced space, epilogue at its end
///   contraction   packed panels and register tiles, epilogue on each finished tile
///   scatter       a copy of the base, then one pass over the updates
LoweredRegion lower_region(const Function& region, const loop::Machine& machine);

/// Whether result `result` of the region may lie in the memory of parameter `param`: every element
/// of the parameter is read only for the same element of the results, before that is stored.
bool may_share(const Function& region, int param, int result);

}  // namespace tapeless
