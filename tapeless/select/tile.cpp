// The choice of register tiles. Candidates hold rows * vectors accumulators, leaving registers for
// `vectors` columns of B and one broadcast of A; measured rates weigh them, and rows and columns
// that lie outside of the result are counted as lost.
#include "tapeless/select/tile.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace tapeless {

namespace {

struct Candidate {
  int rows, vectors;
  double rate;  // share of the FMA peak when all columns count
};
constexpr std::array<Candidate, 4> kManyRegisters = {
    {{8, 3, 1.0}, {6, 4, 1.0}, {14, 2, 0.98}, {14, 1, 0.80}}};
constexpr std::array<Candidate, 2> kFewRegisters = {{{6, 2, 1.0}, {6, 1, 0.7}}};

// The share of whole tiles of this extent that lies inside.
double used(const Dim& size, int64_t extent) {
  if (!size.is_constant() || size.constant() <= 0) return 1;
  int64_t n = size.constant(), tiles = (n + extent - 1) / extent;
  return static_cast<double>(n) / static_cast<double>(tiles * extent);
}

}  // namespace

Tile select_tile(const loop::Machine& machine, loop::Elem elem, const Dim& m, const Dim& n) {
  std::span<const Candidate> candidates = kManyRegisters;
  if (machine.vector_registers < 32) candidates = kFewRegisters;
  Tile tile;
  tile.lanes = machine.lanes(elem);
  double best = -1;
  for (const Candidate& c : candidates) {
    double score = c.rate * used(n, int64_t{c.vectors} * tile.lanes) * used(m, c.rows);
    if (score > best + 1e-9) {
      best = score;
      tile.rows = c.rows;
      tile.vectors = c.vectors;
    }
  }
  if (m.is_constant())
    tile.rows = static_cast<int>(std::clamp<int64_t>(m.constant(), 1, tile.rows));
  return tile;
}

}  // namespace tapeless
