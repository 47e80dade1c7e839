// Ten rounds of multiply and xor, the key bumped before each but the first.
#include "tapeless/loop/philox.h"

namespace tapeless::loop {
namespace {

constexpr int64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr int64_t kBump0 = 0x9E3779B9, kBump1 = 0xBB67AE85;

Expr low_word(const Expr& x) { return cast(Elem::kU32, x); }
Expr high_word(const Expr& x) {
  return cast(Elem::kU32, prim(Prim::kShr, {x, int_constant({Elem::kU64}, 32)}));
}
Expr exclusive_or(const Expr& a, const Expr& b) { return prim(Prim::kXor, {a, b}); }

std::array<Expr, 4> rounds(const Expr& key, std::array<Expr, 4> c) {
  Expr k0 = low_word(key), k1 = high_word(key);
  for (int round = 0; round < 10; ++round) {
    const Expr m0 = u32(kMultiplier0), m1 = u32(kMultiplier1);
    const Expr high0 = prim(Prim::kMulHi, {c[0], m0}), low0 = c[0] * m0;
    const Expr high1 = prim(Prim::kMulHi, {c[2], m1}), low1 = c[2] * m1;
    c = {exclusive_or(exclusive_or(high1, c[1]), k0), low1,
         exclusive_or(exclusive_or(high0, c[3]), k1), low0};
    k0 = k0 + u32(kBump0);
    k1 = k1 + u32(kBump1);
  }
  return c;
}

}  // namespace

std::array<Expr, 4> philox_block(const Expr& key, const Expr& counter, uint32_t use) {
  return rounds(key, {low_word(counter), high_word(counter), u32(use), u32(0)});
}

Expr philox_fold_in(const Expr& key, const Expr& data) {
  const auto words = philox_block(key, data, 1);
  const Expr high = cast(Elem::kU64, words[1]);
  return cast(Elem::kU64, words[0]) | prim(Prim::kShl, {high, int_constant({Elem::kU64}, 32)});
}

}  // namespace tapeless::loop
