#pragma once

#include <optional>
#include <vector>

#include "tapeless/ir/builder.h"

// What rewrite rules of ops (OpDef::rules) look at. A rule keeps every bit: x + 0 is not x where x
// is -0.0.
namespace tapeless::rules {

/// The op that makes `v` where it is a `def`, else null.
const Op* made_by(const Value* v, const OpDef& def);

/// The number that every element of `v` is: a constant, also broadcast or reshaped.
std::optional<double> splat(const Value* v);
/// -0.0 and 0.0 are different floats.
bool is_splat(const Value* v, double number);

/// The other operand where operand `side` is `number` everywhere: x * 1 -> x.
std::vector<Value*> drop_neutral(Builder& b, const Op& op, double number, int side);

template <double Number, int Side>
std::vector<Value*> drop_neutral(Builder& b, const Op& op) {
  return drop_neutral(b, op, Number, Side);
}

}  // namespace tapeless::rules
