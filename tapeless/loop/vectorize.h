#pragma once

#include "tapeless/loop/loop.h"

namespace tapeless::loop {

// A serial loop of step 1 over scalars -> a loop over vectors of `lanes`, then the rest under a
// mask; null where it cannot be done (then the loop stays as it is).
//
//   for i in 0..n { y[i] = x[i] * s }
//   ->
//   for i in 0..n//16*16 step 16 { y[ramp16(i, 1)] = (x[ramp16(i, 1)] * x16(s)) }
//   if n//16*16 < n { the same at ramp16(n//16*16, 1), masked by it < n }
//
// An index affine in the variable with stride 1 becomes a contiguous access, another varying one a
// gather or scatter; what does not vary stays scalar. A condition that varies becomes a mask.
// Locals declared inside become vectors. A local from outside may only accumulate,
//   acc[j] = op(acc[j], x), acc[j] = op(x, acc[j]) or acc[j] = fma(a, b, acc[j]),
// with one op of add mul min max and or xor: it gets `lanes` partial results that start at the op's
// identity, and are combined by reduce() after the loop. So the bits depend on the extent and on
// `lanes`, which may exceed a register: 64 lanes of f32 are four independent chains on AVX-512.
// Not possible: bounds of inner loops or local indices that vary, varying values stored at one
// place.
Stmt vectorize(const Stmt& loop, int lanes);

// The value that leaves others as they are: 0 for add, +inf for min, ...
Expr identity(Prim op, Type type);

}  // namespace tapeless::loop
