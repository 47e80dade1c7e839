// The generator as a source of randomness: derived keys and elements of a tensor.
#include "tapeless/runtime/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tapeless {
namespace {

TEST(Philox, DerivedKeysDiffer) {
  std::set<uint64_t> keys;
  for (uint64_t i = 0; i < 100; ++i) {
    keys.insert(philox_fold_in(5, i));
    keys.insert(philox_split(5, i));
    keys.insert(philox_fold_in(i + 100, 5));
  }
  EXPECT_EQ(keys.size(), 300u);
}

// Rate and neighbours: the correlation of element i with i + lag is that of independent draws.
TEST(Philox, UniformAndIndependent) {
  constexpr int kCount = 1 << 16;
  std::vector<double> u(kCount);
  double mean = 0;
  for (int i = 0; i < kCount; ++i)
    mean += u[size_t(i)] = double{uniform_f32(philox_word(17, static_cast<uint64_t>(i)))};
  mean /= kCount;
  EXPECT_NEAR(mean, 0.5, 4 * std::sqrt(1.0 / 12 / kCount));
  for (int lag : {1, 2, 4, 15, 16, 17, 64}) {
    double covariance = 0;
    for (int i = 0; i + lag < kCount; ++i)
      covariance += (u[size_t(i)] - .5) * (u[size_t(i) + size_t(lag)] - .5);
    EXPECT_NEAR(covariance / kCount, 0, 4 * (1.0 / 12) / std::sqrt(kCount)) << lag;
  }
}

}  // namespace
}  // namespace tapeless
