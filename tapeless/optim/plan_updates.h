#pragma once

#include <map>
#include <set>
#include <string>

#include "tapeless/optim/groups.h"

namespace tapeless::optim {

/// Adds the update functions to `module`, one for each optimizer, type and setting, and plans
/// parameters, states and hypers. `present` are the parameters that have a gradient.
StepPlan plan_updates(Module& module, const Function& loss, const StepOptions& options,
                      const std::set<std::string>& present);

/// The name of a hyper of a parameter's group: `lr`, `head.lr`.
std::string hyper_name(const std::string& group, const std::string& key);

}  // namespace tapeless::optim
