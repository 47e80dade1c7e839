#pragma once

#include "tapeless/ir/builder.h"

// What softmax, log_softmax and cross_entropy share: built once, merged by CSE where several of
// them stand over the same scores.
namespace tapeless::softmax {

/// Along one axis, sizes of 1 kept for `sum`:
///   shifted = x - max(x),  exps = e^shifted <= 1,  sum = sum(exps) >= 1
struct Parts {
  Value* shifted;
  Value* exps;
  Value* sum;
};
Parts parts(Builder& b, Value* x, int64_t axis);

}  // namespace tapeless::softmax
