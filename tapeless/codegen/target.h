#pragma once

#include <string>
#include <string_view>

#include "tapeless/loop/machine.h"

namespace tapeless {

/// What code is generated for. The instruction-set class is `machine.name`; bits of results depend
/// on it and on nothing else of the CPU.
struct Target {
  loop::Machine machine;
  std::string cpu;       // LLVM's name of the class, such as "x86-64-v4"
  std::string features;  // beyond it, such as "+avx512bf16"
  bool host_can_run = true;
};

/// "native" (the best class of this CPU), "avx512", "avx2" or "portable" ("x86-64").
/// Another name, or a class that LLVM does not know, is a DataError.
Target make_target(std::string_view name);

}  // namespace tapeless
