#pragma once

#include <optional>
#include <string>

#include "tapeless/ir/module.h"

namespace tapeless {

struct RematRequest {
  /// The forward function f; `<f>.vjp`, calls inlined, is rewritten.
  std::string function;
  /// What may be kept between forward and backward, in bytes. Absent: what is cheap to compute
  /// again is, and nothing else.
  std::optional<int64_t> budget = {};
  /// Sizes for the bytes; a symbol without one counts with its bound, or as 256.
  SymbolValues sizes = {};
};

/// Orders `<f>.vjp` as its forward part and then its backward part, which computes values again
/// that are not kept: elementwise chains, shapes and random bits first, where the budget asks for
/// it reductions, then as few contractions as it takes. The same bits. A CompileError says how many
/// bytes are missing where no choice holds the budget.
Module remat(const Module& module, const RematRequest& request);

}  // namespace tapeless
