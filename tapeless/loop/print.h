#pragma once

#include <string>

#include "tapeless/loop/loop.h"

namespace tapeless::loop {

// Readable and stable text of a kernel: what `explain --dump loop` shows.
std::string print(const Kernel& kernel);
std::string print(const Stmt& stmt);
std::string print(const Expr& expr);

// The text with every name replaced by its order of appearance: equal for kernels that do the same
// in the same way, whatever they and their variables are called. Kernels are deduplicated and
// cached by it.
std::string canonical_text(const Kernel& kernel);

}  // namespace tapeless::loop
