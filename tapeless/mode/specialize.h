#pragma once

#include <span>
#include <string>

#include "tapeless/ir/module.h"

namespace tapeless {

struct ModeRequest {
  std::string function;
  Mode mode = Mode::kTrain;
};

/// The requested functions for their modes, named `<f>.train` or `<f>.infer`, and what they call;
/// nothing else is left.
///
/// Ops that differ by mode take their form; a call may override its caller's mode. A function that
/// needs random bits gets a parameter `%key: key` unless it has a key; each op and each call that
/// draws from it gets `fold_in(key, hash of its name)`, so that bits depend on the path of calls
/// and nothing else. New values of state (set_state, also in callees) become results named
/// `%<parameter>`, in the order of the parameters, after the function's own.
Module specialize(const Module& module, std::span<const ModeRequest> requests);

}  // namespace tapeless
