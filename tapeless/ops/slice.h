#pragma once

#include "tapeless/ops/build.h"

namespace tapeless::build {

/// x[starts : limits : strides], one entry an axis; strides 1 where empty.
Value* slice(Builder& b, Value* x, Shape starts, Shape limits, Ints strides = {});
/// Zeros around x and, with `interior`, between its elements.
Value* pad(Builder& b, Value* x, Shape low, Shape high, Ints interior = {});

}  // namespace tapeless::build
