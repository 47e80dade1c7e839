#pragma once

#include <string>
#include <vector>

#include "tapeless/ops/checks.h"

namespace tapeless {

/// Indices of an entry point, and where they are found: a parameter, or a result of the entry
/// point that computes them ahead.
struct EntryIndexCheck {
  IndexCheck check;
  int param = -1;
  int computed = -1;
};

/// What an entry point asks of its data before its first step.
struct EntryChecks {
  std::vector<EntryIndexCheck> indices;
  std::vector<SizeCheck> sizes;
  std::string ahead;  // the entry point (same parameters) that computes indices; may be empty
};

/// The checks of all ops of @name, a flat function, each once. Indices that are computed inside get
/// a function of their own in `module`, which is an entry point too.
EntryChecks collect_checks(Module& module, const std::string& name);

}  // namespace tapeless
