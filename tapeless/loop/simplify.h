#pragma once

#include "tapeless/loop/loop.h"

namespace tapeless::loop {

// Index arithmetic made smaller where loop bounds prove it: under `for i in 0..4`, `i / 8` is 0,
// `i % 8` is i, `i < 4` is true and `if` on it vanishes; loops of one iteration become their body.
// Sizes count as not negative. Values of results do not change.
Stmt simplify(const Stmt& stmt);

}  // namespace tapeless::loop
