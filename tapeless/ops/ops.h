#pragma once

#include <span>
#include <string_view>

#include "tapeless/ir/op_def.h"

namespace tapeless {

// One declaration an op: kAddOp, kTanhOp, ... An op of ops.def without its file is a link error.
#define OP(Name, text) extern const OpDef k##Name##Op;
#include "tapeless/ops/ops.def"
#undef OP

/// All ops in the order of ops.def.
std::span<const OpDef* const> all_ops();
/// The op of that name, or null.
const OpDef* find_op(std::string_view name);
/// Names of all ops, for "did you mean".
std::vector<std::string> op_names();

}  // namespace tapeless
