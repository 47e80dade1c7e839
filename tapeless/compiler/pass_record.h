#pragma once

#include <string>

#include "tapeless/ir/module.h"

namespace tapeless {

/// What a compile did in one pass, and what it left.
struct PassRecord {
  std::string pass;
  Stage stage = Stage::kSource;
  size_t functions = 0, ops = 0;
  double seconds = 0;
  std::string text;  // the module after it, where that was asked for
};

}  // namespace tapeless
