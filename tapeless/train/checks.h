#pragma once

#include <cstdint>
#include <string>

#include "tapeless/ir/module.h"

namespace tapeless {

/// Refuses what would only fail in the middle of a run: a batch above the bound of the loss's first
/// input, and a last batch that gives a batch norm one value a channel. `last_rows` is 0 where no
/// batch is partial.
void check_batch_sizes(const Module& source, const std::string& loss, int64_t batch,
                       int64_t last_rows);

}  // namespace tapeless
