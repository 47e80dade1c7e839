#pragma once

#include "tapeless/ir/module.h"

namespace tapeless {

/// Contractions over f32 get operands, and in the backward cotangents, with the values of `to`
/// (bf16); products are exact in f32 and accumulate there. Everything else, parameters and their
/// gradients among it, stays f32; casts of the user's own stay as they are. Before differentiation.
Module lower_precision(const Module& module, DType to = DType::kBF16);

}  // namespace tapeless
