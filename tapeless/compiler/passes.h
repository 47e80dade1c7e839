#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tapeless/ir/op_def.h"

namespace tapeless {

/// A pass by name, for `tapeless opt` and tests: options are described as attributes of ops are.
struct Pass {
  std::string_view name;
  std::string_view doc;
  std::span<const AttrDef> options;
  Module (*run)(const Module& module, const AttrMap& options);
  /// The earliest stage that the pass takes.
  Stage from = Stage::kSource;
};

/// In the order of the pipeline.
std::span<const Pass> all_passes();

/// Runs `specialize{functions = [f], mode = train},simplify` and verifies after each pass. `after`
/// (if any) sees each pass's name and result. CompileErrors for unknown passes and options.
Module run_passes(Module module, const std::string& passes,
                  const std::function<void(std::string_view, const Module&)>& after = {});

}  // namespace tapeless
