// Offsets from lifetimes, without IR. The largest buffer first: each goes to the lowest gap between
// the buffers placed before it whose lives meet its own.
#include "tapeless/plan/plan.h"

#include <algorithm>
#include <numeric>

namespace tapeless {

namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
}

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

int64_t peak(std::span<const Lifetime> lifetimes) {
  int steps = 0;
  for (const Lifetime& l : lifetimes) steps = std::max(steps, l.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  for (const Lifetime& l : lifetimes) {
    change[static_cast<size_t>(l.first)] += aligned(l.bytes);
    change[static_cast<size_t>(l.last) + 1] -= aligned(l.bytes);
  }
  int64_t alive = 0, most = 0;
  for (int64_t c : change) most = std::max(most, alive += c);
  return most;
}

}  // namespace

Placement place(std::span<const Lifetime> lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  Placement out;
  out.offsets.assign(lifetimes.size(), 0);
  out.lower_bound = peak(lifetimes);
  std::vector<size_t> placed;  // sorted by offset
  for (size_t i : order) {
    int64_t bytes = aligned(lifetimes[i].bytes), offset = 0;
    for (size_t j : placed) {
      if (!meet(lifetimes[i], lifetimes[j])) continue;
      if (out.offsets[j] - offset >= bytes) break;
      offset = std::max(offset, out.offsets[j] + aligned(lifetimes[j].bytes));
    }
    out.offsets[i] = offset;
    out.total = std::max(out.total, offset + bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](size_t a, size_t b) { return out.offsets[a] < out.offsets[b]; }),
        i);
  }
  return out;
}

}  // namespace tapeless
