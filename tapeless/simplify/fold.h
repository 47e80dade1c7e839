#pragma once

#include "tapeless/ir/builder.h"

namespace tapeless {

/// The value of an op over small constants as a new constant; null where it does not apply or where
/// compiled code need not give the very bits of the reference.
Value* fold_constants(Builder& b, const Op& op);

}  // namespace tapeless
