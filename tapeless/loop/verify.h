#pragma once

#include "tapeless/loop/loop.h"

namespace tapeless::loop {

// Checks types, lanes, masks, and that every variable, local and buffer is declared where it is
// used. A failure is a bug of the lowering: InternalError with the kernel's text.
void verify(const Kernel& kernel);

}  // namespace tapeless::loop
