#pragma once

#include <span>
#include <vector>

#include "tapeless/ir/builder.h"

/// Functions over all gradients of a step, as ops.
namespace tapeless::optim {

struct Norm {
  Value* norm = nullptr;  // f64[]
  /// For each gradient a value that is finite exactly where all of it is.
  std::vector<Value*> witnesses;
};

/// sqrt of the sum of all squares, with no overflow for any finite gradient: squares of f32 and
/// narrower are summed in f64; where an f64 tensor is among them, all is first divided by the
/// largest magnitude.
Norm global_norm(Builder& b, std::span<Value* const> gradients);

/// g * min(1, max_norm / (norm + 1e-6)), PyTorch's form; `norm` and `max_norm` f64[].
std::vector<Value*> clip_by_norm(Builder& b, std::span<Value* const> gradients, Value* norm,
                                 Value* max_norm);

/// g limited to [-limit, limit]; `limit` f64[]. NaN stays NaN.
std::vector<Value*> clip_by_value(Builder& b, std::span<Value* const> gradients, Value* limit);

/// bool[]: every element is finite.
Value* all_finite(Builder& b, Value* x);

}  // namespace tapeless::optim
