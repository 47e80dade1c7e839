#pragma once

#include <string>

#include "tapeless/tensor/tensor.h"

namespace tapeless {

/// Reads an IDX file, plain or gzipped. Bytes stay u8, all narrower signed integers become i32.
/// A file that is not IDX, is cut short, or is longer than its header says is a DataError.
Tensor read_idx(const std::string& path);

}  // namespace tapeless
