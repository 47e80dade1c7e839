#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "tapeless/codegen/target.h"
#include "tapeless/loop/loop.h"

namespace tapeless::codegen {

// Adds the kernel to the module as the function `symbol` with the kernel ABI.
void emit_kernel(llvm::Module& module, const loop::Kernel& kernel, const std::string& symbol,
                 const Target& target);

}  // namespace tapeless::codegen
