#pragma once

#include <array>

#include "tapeless/loop/loop.h"

namespace tapeless::loop {

// Philox4x32-10 (tapeless/runtime/philox.h) as expressions: the four u32 words of one block, for a
// u64 key and a u64 counter of any number of lanes; `use` as there. Put the words in lets where
// they are used often.
std::array<Expr, 4> philox_block(const Expr& key, const Expr& counter, uint32_t use = 0);

// The key of stream `data` (u64) under `key`.
Expr philox_fold_in(const Expr& key, const Expr& data);

}  // namespace tapeless::loop
