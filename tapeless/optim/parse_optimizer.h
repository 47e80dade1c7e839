#pragma once

#include <memory>
#include <string>

#include "tapeless/ir/module.h"
#include "tapeless/optim/syntax.h"

namespace tapeless::optim {

/// Reads one `optimizer @name(...) {...}` block that stands in a range of a text; CompileErrors
/// point into it.
OptimizerDef parse_optimizer(const OptimizerText& text);

/// The optimizer that `name` means: one of `module` (may be null), a path that ends in `.tir` (the
/// file's last optimizer), or a built-in. A CompileError at `loc` names the nearest one.
OptimizerDef find_optimizer(const std::string& name, const Module* module, const Loc& loc);

/// Names of the built-in ones.
std::vector<std::string> builtin_optimizers();

}  // namespace tapeless::optim
