#pragma once

#include <string>
#include <vector>

#include "tapeless/ir/module.h"

namespace tapeless {

struct SplitRequest {
  std::string function;
  /// Sizes that weigh what is saved; a symbol without one counts with its bound, or as 256.
  SymbolValues sizes = {};
};

/// One thing that the backward reads.
struct SavedValue {
  std::string name;   // the parameter of the backward: %x by reference, or %saved.0
  std::string value;  // its name in the forward
  Type type;
  int64_t bytes = 0;
  std::string reason;
};

/// From `<f>.vjp`, calls inlined, adds
///  `<f>.forward`: (parameters of f) -> (results of f, `saved.0`, `saved.1`, ...)
///  `<f>.backward`: (the parameters of f that it reads, under their names; saved.N; cotangents
///  `d.<result>`) -> (`grad.<parameter>`).
/// What is saved is a minimum cut by bytes; cheap ops and keyed random bits are computed again.
Module split(const Module& module, const SplitRequest& request);

/// What `<f>.backward` of a split module reads, with sizes and reasons.
std::vector<SavedValue> list_saved(const Module& module, const SplitRequest& request);
/// A line each, for `explain --what saved`.
std::string explain_saved(const std::vector<SavedValue>& saved);

}  // namespace tapeless
