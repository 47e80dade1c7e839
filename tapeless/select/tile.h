#pragma once

#include "tapeless/ir/dim.h"
#include "tapeless/loop/machine.h"

namespace tapeless {

/// How a contraction is cut: a register tile of `rows` x `vectors * lanes`, and at most
/// `depth` steps of k at a time (a multiple of what the innermost dimensions of k need).
struct Tile {
  int rows = 1;
  int vectors = 1;
  int lanes = 1;
  int64_t depth = 1024;

  int columns() const { return vectors * lanes; }
};

/// The tile for C[m, n] += A[m, k] B[k, n] of this element type. Bits do not depend on the choice:
/// every element is one chain in the order of k.
Tile select_tile(const loop::Machine& machine, loop::Elem elem, const Dim& m, const Dim& n);

/// Work of one task of an elementwise loop or a reduction, in elements: enough to pay for handing
/// it to a thread.
inline constexpr int64_t kTaskElements = 16384;

}  // namespace tapeless
