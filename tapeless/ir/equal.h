#pragma once

#include "tapeless/ir/module.h"

namespace tapeless {

/// Equal up to the names of values: the same ops on corresponding operands, attributes and types.
bool structurally_equal(const Function& a, const Function& b);

}  // namespace tapeless
