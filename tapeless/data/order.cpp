// Order of rows: seeded shuffles and splits from counter-based random bits.
#include "tapeless/data/order.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace tapeless {

namespace {

constexpr uint64_t kSplitStream = 0x73706c6974;

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Fisher-Yates. The remainder favours small indices by rows / 2^64 at most.
std::vector<int64_t> permutation(int64_t rows, uint64_t seed, uint64_t stream) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(data_bits(seed, stream, i) % i)]);
  return order;
}

}  // namespace

uint64_t data_bits(uint64_t seed, uint64_t stream, uint64_t index) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  return mix(mix(mix(seed + kGolden) + stream + kGolden) + index * kGolden + kGolden);
}

double data_normal(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t bits = data_bits(seed, stream, index);
  double u = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;
  double v = static_cast<double>(bits & 0xffffffff) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

std::vector<int64_t> epoch_order(int64_t rows, uint64_t seed, int64_t epoch) {
  return permutation(rows, seed, static_cast<uint64_t>(epoch));
}

RowSplit split_rows(int64_t rows, double fraction, uint64_t seed) {
  std::vector<int64_t> order = permutation(rows, seed, kSplitStream);
  auto cut = order.begin() + std::llround(static_cast<double>(rows) * fraction);
  RowSplit split{{cut, order.end()}, {order.begin(), cut}};
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.validation.begin(), split.validation.end());
  return split;
}

}  // namespace tapeless
