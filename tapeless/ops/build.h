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

/// The number of elements of `shape` as a scalar: a constant where it is known.
Value* numel(Builder& b, DType dtype, const Shape& shape);

Value* add(Builder& b, Value* x, Value* y);
Value* sub(Builder& b, Value* x, Value* y);
Value* mul(Builder& b, Value* x, Value* y);
Value* mul(Builder& b, Value* x, double y);
Value* div(Builder& b, Value* x, Value* y);
Value* neg(Builder& b, Value* x);
Value* exp(Builder& b, Value* x);
Value* log(Builder& b, Value* x);
Value* sigmoid(Builder& b, Value* x);
Value* tanh(Builder& b, Value* x);
Value* eq(Builder& b, Value* x, Value* y);
Value* eq(Builder& b, Value* x, double y);
Value* gt(Builder& b, Value* x, double y);
Value* where(Builder& b, Value* condition, Value* x, Value* y);
/// 1 - x.
Value* one_minus(Builder& b, Value* x);
/// x where the condition holds, 0 elsewhere; and the reverse.
Value* keep_where(Builder& b, Value* condition, Value* x);
Value* zero_where(Builder& b, Value* condition, Value* x);
Value* cast(Builder& b, Value* x, DType to);
Value* sum(Builder& b, Value* x, Ints axes, bool keepdims = false);
Value* max(Builder& b, Value* x, Ints axes, bool keepdims = false);
Value* broadcast_to(Builder& b, Value* x, Shape shape);
Value* reshape(Builder& b, Value* x, Shape shape);
Value* transpose(Builder& b, Value* x, Ints permutation);
Value* matmul(Builder& b, Value* x, Value* y, bool transpose_a = false, bool transpose_b = false);
std::vector<Value*> call(Builder& b, const std::string& callee, std::vector<Value*> arguments);

/// Sums `x` over the axes that broadcasting added or stretched, down to `shape`.
Value* sum_to(Builder& b, Value* x, const Shape& shape);

}  // namespace tapeless::build
