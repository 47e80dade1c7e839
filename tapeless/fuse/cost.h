#pragma once

#include "tapeless/ir/module.h"

namespace tapeless::fusion {

/// Rough cost of one element of an op that is defined by its elements, in simple operations: the
/// primitives of its loop expression, where a transcendental counts 16 and a division or square
/// root 4. Operands are free.
int element_cost(const Op& op);

}  // namespace tapeless::fusion
