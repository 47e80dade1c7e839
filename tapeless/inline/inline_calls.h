#pragma once

#include <span>
#include <string>

#include "tapeless/ir/module.h"

namespace tapeless {

/// Replaces every call of a function with a body by that body, in all functions. Calls of externals
/// stay; before differentiation so do calls of functions with a vjp of the user's own.
Module inline_calls(const Module& module);

/// Only `entries` and what they name, directly or through others; the order of functions is kept.
Module keep_reachable(const Module& module, std::span<const std::string> entries);

}  // namespace tapeless
