#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tapeless {

/// A buffer that is needed from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct Placement {
  std::vector<int64_t> offsets;  // one a lifetime, multiples of kPlanAlignment
  int64_t total = 0;             // bytes of the arena
  int64_t lower_bound = 0;       // the largest sum of bytes alive at one step
};

inline constexpr int64_t kPlanAlignment = 64;

/// Packs buffers into one arena so that two which live at the same step never overlap: the largest
/// first, each at the lowest free offset. Deterministic; no buffer of zero bytes takes room.
Placement place(std::span<const Lifetime> lifetimes);

}  // namespace tapeless
