#pragma once

#include "tapeless/loop/loop.h"

namespace tapeless::loop {

// A math primitive (kExp .. kRsqrt) written out in arithmetic, for any number of lanes; null where
// it is left to the C library: sin, cos and pow, and all of f64 but sigmoid and rsqrt. With `fma`
// false products and sums are rounded apart.
Expr expand_math(const Expr& e, bool fma);

}  // namespace tapeless::loop
