#pragma once

#include <unordered_map>
#include <vector>

#include "tapeless/ir/module.h"

namespace tapeless::fusion {

/// Ops that become one kernel, in the order of the function.
struct Group {
  std::vector<const Op*> ops;
  Shape space;                // the shape of every result that leaves the group
  const Op* heavy = nullptr;  // its reduction, contraction or scatter
  bool alone = false;         // an op that no kernel is made of: alias, extern call, constant
  bool dissolved = false;     // inlined into all of its consumers
};

/// The groups of a function in an order of execution.
struct Groups {
  std::vector<Group> groups;
  std::unordered_map<const Op*, int> group_of;
};

/// One group an op, nothing fused.
Groups separate(const Function& f);
/// Pointwise ops join the group of their latest operand; cheap producers are then inlined.
Groups group(const Function& f);

/// An op that is no kernel: an alias of memory, a call of C code, a constant tensor.
bool stands_alone(const Op& op);

}  // namespace tapeless::fusion
