#pragma once

#include "tapeless/lower/region.h"

namespace tapeless::lowering {

/// One of the two factors of a contraction, seen from the result: A runs along m, B along n.
struct Factor {
  bool is_a = true;
  Shape own;  // the dimensions it shares with the result: m or n

  /// Its element at an index of the batch, of its own dimensions and of k.
  loop::Expr element(Elements& e, const Contraction& how, const Indices& batch,
                     const Indices& own_index, const Indices& k) const {
    return is_a ? how.a(e, batch, own_index, k) : how.b(e, batch, k, own_index);
  }
};

/// How the elements of a factor lie in memory.
struct Layout {
  enum class Lanes : uint8_t {
    kFlat,      // vectors along all own dimensions read memory in order
    kSegments,  // along the last own dimension only
    kGathered,
  };
  Lanes lanes = Lanes::kGathered;
  /// An unmasked load, linear in the flattened last `linear_k` dimensions of k: it can be read in
  /// place, one element after the other. 0: it cannot.
  size_t linear_k = 0;
};

Layout inspect(Region& region, const Op& op, const Factor& factor);

/// Which factor runs along the rows of register tiles, read in place or packed one by one, and
/// which along their columns, packed as vectors. Chosen by an estimate of the packing.
struct Orientation {
  Factor rows, columns;
  Layout rows_layout, columns_layout;
};

Orientation orient(Region& region, const Op& op);

}  // namespace tapeless::lowering
