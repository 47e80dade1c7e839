#pragma once

#include <string>

#include "tapeless/ir/module.h"
#include "tapeless/support/check.h"

namespace tapeless {

/// Writes `module` to a .tir file in the folder for temporary files, whose first line is the
/// command that meets the bug again (`%s` stands for the file, as in a text test), and throws
/// `error` on with the file's path.
[[noreturn]] void throw_with_reproducer(const InternalError& error, const Module& module,
                                        const std::string& command);

}  // namespace tapeless
