#pragma once

#include <string>
#include <vector>

#include "tapeless/compiler/executable.h"
#include "tapeless/compiler/training.h"

// What the compiler decided, as text.
namespace tapeless {

/// How often and what was compiled, and for which sizes that is enough.
std::string explain_compile(const Executable& executable, const std::string& entry);

/// The arena of an entry point at these sizes: what lies where and from which step to which, and
/// what lies outside of it.
std::string explain_plan(const Executable& executable, const std::string& entry,
                         const SymbolValues& sizes);

/// What a step keeps from its forward to its backward part, by kernels, and what it reads again by
/// reference.
std::string explain_kept(const Executable& executable, const std::string& entry,
                         const SymbolValues& sizes);
/// What the backward of a loss reads where the two parts are functions of their own: the minimum
/// cut, see autodiff/split.h.
std::string explain_cut(const Module& source, const std::string& loss,
                        const TrainingChoices& choices);
/// The same for every `<f>.vjp` of a differentiated module.
std::string explain_cuts(const Module& module, const SymbolValues& sizes);

/// The kernels of an entry point in the order in which they run: ops with their source lines, how
/// each was cut, and what it works and moves.
std::string explain_kernels(const Executable& executable, const std::string& entry,
                            const SymbolValues& sizes);

/// For every parameter: the kernel that updates it, in place or by a copy, and whether its gradient
/// is ever stored. `entry` is train_step, update or update_accumulated.
std::string explain_updates(const Executable& executable, const std::string& entry,
                            const optim::StepPlan& plan);

/// A line a pass, with the modules where their text was kept.
std::string explain_passes(const std::vector<PassRecord>& passes);

/// The code of an entry point: `tir` (regions), `loop`, `llvm` or `asm`.
std::string dump_code(const Executable& executable, const std::string& entry,
                      const std::string& form);

}  // namespace tapeless
