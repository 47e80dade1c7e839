#pragma once

#include <string>
#include <vector>

#include "tapeless/compiler/executable.h"
#include "tapeless/optim/step_plan.h"

// What the compiler decided, as text.
namespace tapeless {

/// How often and what was compiled.
std::string explain_compile(const Executable& executable);

/// The arena of an entry point at these sizes: what lies where and from which step to which, and
/// what lies outside of it.
std::string explain_plan(const Executable& executable, const std::string& entry,
                         const SymbolValues& sizes);

/// The kernels of an entry point in the order in which they run.
std::string explain_kernels(const Executable& executable, const std::string& entry,
                            const SymbolValues& sizes);

/// For every parameter: the kernel that updates it, in place or by a copy, and whether its gradient
/// is ever stored. `entry` is train_step, update or update_accumulated.
std::string explain_updates(const Executable& executable, const std::string& entry,
                            const optim::StepPlan& plan);

/// The code of an entry point: `tir` (regions), `loop`, `llvm` or `asm`.
std::string dump_code(const Executable& executable, const std::string& entry,
                      const std::string& form);

}  // namespace tapeless
