#pragma once

#include <string>

#include "tapeless/ir/module.h"

namespace tapeless {

/// The text form (docs/ir.md). Names are made unique while printing, so that parsing the text and
/// printing it again gives the same bytes.
std::string print(const Module& module);
std::string print(const Function& function);
/// One op on a line, for messages; values without a name print as their position.
std::string print(const Op& op);

}  // namespace tapeless
