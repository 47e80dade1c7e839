#pragma once

#include <cstdint>
#include <vector>

namespace tapeless {

/// 64 random bits: a function of its arguments alone (SplitMix64's finaliser over a counter), so
/// that data needs no generator state to be saved.
uint64_t data_bits(uint64_t seed, uint64_t stream, uint64_t index);
/// Standard normal, by Box-Muller.
double data_normal(uint64_t seed, uint64_t stream, uint64_t index);

/// The rows of an epoch in the order in which they are visited: a permutation of 0..rows-1 that
/// depends on (rows, seed, epoch) only.
std::vector<int64_t> epoch_order(int64_t rows, uint64_t seed, int64_t epoch);

struct RowSplit {
  std::vector<int64_t> train;
  std::vector<int64_t> validation;
};
/// round(rows * fraction) rows, drawn by the seed, are set aside; both parts ascend.
RowSplit split_rows(int64_t rows, double fraction, uint64_t seed);

}  // namespace tapeless
