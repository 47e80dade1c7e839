#pragma once

#include <map>
#include <string>

#include "tapeless/tensor/tensor.h"

namespace tapeless {

using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// What one .safetensors file holds.
struct Safetensors {
  TensorMap tensors;
  std::map<std::string, std::string> metadata;
};

/// Maps the file; tensors are views that keep the mapping alive (a write to one is private). The
/// header is checked against the file: a truncated or lying one is a DataError.
Safetensors read_safetensors(const std::string& path);

/// Writes beside, syncs, renames. Strided tensors are written dense; larger elements come first, so
/// that each tensor is aligned in a mapped file.
void write_safetensors(const std::string& path, const TensorMap& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace tapeless
