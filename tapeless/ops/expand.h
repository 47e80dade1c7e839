#pragma once

#include <memory>

#include "tapeless/ir/op_def.h"

namespace tapeless {

/// A copy of `f` in which every op that `which` picks is replaced by its `expand`, until none is
/// left: what an expansion builds is looked at again. Picked ops must have an `expand`.
std::unique_ptr<Function> expand_ops(const Function& f, const Module& module,
                                     bool (*which)(const OpDef& def));

}  // namespace tapeless
