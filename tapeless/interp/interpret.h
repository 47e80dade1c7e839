#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tapeless/ir/module.h"
#include "tapeless/tensor/tensor.h"

namespace tapeless {

/// Runs a function op by op through the ops' references: the oracle of every test. Symbols are
/// bound from the arguments' shapes. A DataError where an argument does not fit its parameter; a
/// CompileError at an op that differs by mode.
std::vector<Tensor> interpret(const Module& module, std::string_view function,
                              std::span<const Tensor> arguments);

/// The sizes of a function's symbols for these arguments; a DataError names the argument that does
/// not fit its parameter, or the bound that a size exceeds.
SymbolValues bind_arguments(const Function& function, std::span<const Tensor> arguments);

}  // namespace tapeless
