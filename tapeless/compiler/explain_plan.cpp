// The arena of an entry point as a chart.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "tapeless/compiler/explain.h"
#include "tapeless/compiler/explain_text.h"
#include "tapeless/plan/plan.h"

namespace tapeless {

using namespace explaining;

namespace {

// A row of the drawing: `#` for the columns whose steps need the storage.
std::string lifetime_bar(const Storage& s, int steps) {
  constexpr int kColumns = 60;
  int columns = std::min(steps, kColumns);
  std::string bar(static_cast<size_t>(columns), '.');
  int last = std::min(s.last, steps - 1);
  for (int c = s.first * columns / steps; c <= last * columns / steps; ++c)
    bar[static_cast<size_t>(c)] = '#';
  return bar;
}

Placement place_arena(const EntryPoint& e, const SymbolValues& sizes) {
  std::vector<Lifetime> lifetimes;
  for (const Storage& s : e.storages)
    lifetimes.push_back(s.place == Storage::Place::kArena
                            ? Lifetime{s.bytes.eval(sizes), s.first, s.last}
                            : Lifetime{0, s.first, s.last});
  return place(lifetimes);
}

std::string chart(const EntryPoint& e, const Placement& placement, const SymbolValues& sizes) {
  std::vector<size_t> order(e.storages.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return placement.offsets[a] < placement.offsets[b]; });
  int steps = std::max(1, static_cast<int>(e.steps.size()));
  std::string out = fmt::format("{:>12} {:>12}  {:>4} {:>4}  {:<{}}  value\n", "offset", "bytes",
                                "from", "to", "alive", std::min(steps, 60));
  for (size_t i : order) {
    const Storage& s = e.storages[i];
    if (s.place != Storage::Place::kArena) continue;
    out += fmt::format("{:>12} {:>12}  {:>4} {:>4}  {}  {}\n", placement.offsets[i],
                       s.bytes.eval(sizes), s.first, s.last, lifetime_bar(s, steps),
                       storage_name(e, s));
  }
  return out;
}

// Parameters that a call gives new values, by how they get them.
std::string updates(const EntryPoint& e) {
  std::vector<std::string> in_place, copied;
  for (size_t r = 0; r < e.results.size(); ++r)
    if (e.results[r].updates >= 0)
      (e.places[r].copy_to_param < 0 ? in_place : copied).push_back(e.results[r].name);
  std::string out;
  if (!in_place.empty()) out += fmt::format("updated in place: {}\n", fmt::join(in_place, ", "));
  if (!copied.empty()) out += fmt::format("copied at the end: {}\n", fmt::join(copied, ", "));
  return out;
}

}  // namespace

std::string explain_plan(const Executable& executable, const std::string& entry,
                         const SymbolValues& sizes) {
  const EntryPoint& e = executable.program().entry(entry);
  Placement placement = place_arena(e, sizes);
  double ratio = placement.lower_bound == 0 ? 1
                                            : static_cast<double>(placement.total) /
                                                  static_cast<double>(placement.lower_bound);
  std::string out =
      fmt::format("@{}: {} steps{}, arena {} (no plan could do with less than {}: ratio {:.3f})\n",
                  entry, e.steps.size(), sizes_str(sizes), bytes_str(placement.total),
                  bytes_str(placement.lower_bound), ratio);
  out += chart(e, placement, sizes) + updates(e);
  int64_t params = 0, constants = 0;
  for (const Slot& slot : e.params) params += type_bytes(slot.type, sizes);
  for (const Storage& s : e.storages)
    if (s.place == Storage::Place::kConstant) constants += s.constant.bytes();
  return out + fmt::format("outside the arena: parameters, states and inputs {}, constants {}\n",
                           bytes_str(params), bytes_str(constants));
}

}  // namespace tapeless
