#pragma once

#include <array>
#include <cstdint>

namespace tapeless {

/// Random bits as a function of (key, counter): Philox4x32-10 of Salmon et al., "Parallel random
/// numbers: as easy as 1, 2, 3". The same at any thread count, layout and order of evaluation.
///
/// Element i of a tensor of random u32 under `key` is word (i / 16) % 4 of block (i / 64) 16 + i %
/// 16: 16 neighbours are one word of 16 blocks, which is what 16 vector lanes compute at once. The
/// two upper counter words tell the uses of one key apart: 0 for random bits, 1 for fold_in, 2 for
/// normal numbers.
using PhiloxBlock = std::array<uint32_t, 4>;

constexpr PhiloxBlock philox_rounds(uint64_t key, PhiloxBlock c) {
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{c[0]} * 0xD2511F53U, p1 = uint64_t{c[2]} * 0xCD9E8D57U;
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

constexpr PhiloxBlock philox_block(uint64_t key, uint64_t counter, uint32_t use = 0) {
  return philox_rounds(
      key, {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), use, 0});
}

constexpr uint32_t philox_word(uint64_t key, uint64_t element) {
  return philox_block(key, element / 64 * 16 + element % 16)[element / 16 % 4];
}

/// A key for stream `data` under `key`.
constexpr uint64_t philox_fold_in(uint64_t key, uint64_t data) {
  const PhiloxBlock words = philox_block(key, data, 1);
  return uint64_t{words[0]} | uint64_t{words[1]} << 32;
}

/// Key number `index` of those that `split` makes.
constexpr uint64_t philox_split(uint64_t key, uint64_t index) {
  return philox_fold_in(key, uint64_t{1} << 63 | index);
}

/// A float in [0, 1) with 24 random bits.
constexpr float uniform_f32(uint32_t word) {
  return static_cast<float>(word >> 8) * (1.0F / 16777216.0F);
}

}  // namespace tapeless
