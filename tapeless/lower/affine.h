#pragma once

#include "tapeless/loop/loop.h"

namespace tapeless::lowering {

/// Whether an integer expression is linear in `var`: a sum of terms that hold it once or not at
/// all, outside of divisions and loads.
bool affine_in(const loop::Expr& e, const loop::Expr& var);

/// Whether lanes along `var` read memory in order: every load's index is linear in `var`, by steps
/// of 1 or 0.
bool contiguous_in(const loop::Expr& e, const loop::Expr& var);

/// The same value with the index of every load that is not under another operation than arithmetic
/// of sums and products split into (what does not vary with `var`) + (what does), products
/// multiplied out: so that the second part does not change in loops around `var`'s.
///   ((c * H + h(j)) + kh) * W + (w(j) + kw)  ->  (c*H*W + kh*W + kw) + (h(j)*W + w(j))
loop::Expr group_by(const loop::Expr& e, const loop::Expr& var);

/// Whether `var` occurs in the expression.
bool depends_on(const loop::Expr& e, const loop::Expr& var);

}  // namespace tapeless::lowering
