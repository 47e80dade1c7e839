#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tapeless/ir/module.h"

namespace tapeless {

/// Runs `specialize{functions = [f], mode = train},simplify` and verifies after each pass. `after`
/// (if any) sees each pass's name and result. CompileErrors for unknown passes and options. The
/// passes are those of the table in pipeline.cpp.
Module run_passes(Module module, const std::string& passes,
                  const std::function<void(std::string_view, const Module&)>& after = {});

}  // namespace tapeless
