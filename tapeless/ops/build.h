#pragma once

#include "tapeless/ir/builder.h"

/// Short names for making ops from C++: `build::add(b, x, y)`. One line an op that rules, forms and
/// layers use often; everything else goes through Builder::make.
namespace tapeless::build {

Value* constant(Builder& b, DType dtype, double value);
/// A scalar constant of the dtype of `like`.
Value* constant_like(Builder& b, const Value* like, double value);
/// `value` everywhere in the type of `like`.
Value* full_like(Builder& b, const Value* like, double value);

Value* add(Builder& b, Value* x, Value* y);
Value* mul(Builder& b, Value* x, Value* y);
Value* mul(Builder& b, Value* x, double y);
Value* neg(Builder& b, Value* x);
Value* tanh(Builder& b, Value* x);
Value* cast(Builder& b, Value* x, DType to);
Value* sum(Builder& b, Value* x, Ints axes, bool keepdims = false);
Value* broadcast_to(Builder& b, Value* x, Shape shape);
Value* reshape(Builder& b, Value* x, Shape shape);
Value* transpose(Builder& b, Value* x, Ints permutation);
Value* matmul(Builder& b, Value* x, Value* y, bool transpose_a = false, bool transpose_b = false);
std::vector<Value*> call(Builder& b, const std::string& callee, std::vector<Value*> arguments);

/// Sums `x` over the axes that broadcasting added or stretched, down to `shape`.
Value* sum_to(Builder& b, Value* x, const Shape& shape);

}  // namespace tapeless::build
