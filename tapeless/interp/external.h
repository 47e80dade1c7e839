#pragma once

#include <span>
#include <vector>

#include "tapeless/ir/module.h"
#include "tapeless/tensor/tensor.h"

namespace tapeless {

/// Calls the C code of an external function; `results` are allocated. A CompileError where it is
/// not found, a DataError where it fails.
std::vector<Tensor> call_external(const Function& function, std::span<const Tensor> arguments,
                                  std::vector<Tensor> results);

}  // namespace tapeless
