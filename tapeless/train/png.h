#pragma once

#include <string>
#include <string_view>

#include "tapeless/tensor/tensor.h"

namespace tapeless {

/// A PNG of u8[H, W], u8[1, H, W] (grey) or u8[3, H, W] (colour).
std::string encode_png(const Tensor& pixels);

std::string base64(std::string_view bytes);

}  // namespace tapeless
