#pragma once

#include "tapeless/ir/module.h"

namespace tapeless {

/// Checks a module at its stage, between all passes. Invariants:
///  V1 every operand is a parameter or an earlier result of the same function;
///  V2 every op's result types are those that its definition infers from its operands;
///  V3 every op is legal at the module's stage;
///  V4 every result of a function is a value of that function;
///  V5 names of functions and of parameters are unique; named functions exist;
///  V6 calls form no cycle;
///  V7 from stage specialized on, no op differs by mode and no call overrides one.
/// `after` names the pass just run; a breach is an InternalError with the function printed. Without
/// it the user wrote the module: a CompileError.
void verify(const Module& module, std::string_view after = {});

}  // namespace tapeless
