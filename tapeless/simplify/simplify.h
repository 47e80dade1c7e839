#pragma once

#include "tapeless/ir/module.h"

namespace tapeless {

/// Every function with fewer or simpler ops and the same bits: the rules of the ops
/// (OpDef::rules), exact arithmetic on constants, equal ops merged, unused ops dropped. From stage
/// specialized on.
Module simplify(const Module& module);

/// Ops that have no lowering of their own are replaced by their expansion.
Module expand_composites(const Module& module);

}  // namespace tapeless
