// Names, sizes and the two 16-bit float formats.
#include "tapeless/tensor/dtype.h"

#include <array>
#include <cmath>

namespace tapeless {

namespace {

struct Row {
  std::string_view name;
  int64_t size;
};
constexpr std::array<Row, 9> kTable = {{{"f32", 4},
                                        {"f64", 8},
                                        {"bf16", 2},
                                        {"f16", 2},
                                        {"i32", 4},
                                        {"i64", 8},
                                        {"u8", 1},
                                        {"bool", 1},
                                        {"key", 8}}};

}  // namespace

std::string_view dtype_name(DType dtype) { return kTable[static_cast<size_t>(dtype)].name; }

int64_t dtype_size(DType dtype) { return kTable[static_cast<size_t>(dtype)].size; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kTable.size(); ++i)
    if (kTable[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

BF16::BF16(float value) {
  uint32_t u = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) {
    bits = static_cast<uint16_t>((u >> 16) | 0x40);
    return;
  }
  bits = static_cast<uint16_t>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
}

F16::F16(float value) { bits = std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

F16::operator float() const { return static_cast<float>(std::bit_cast<_Float16>(bits)); }

}  // namespace tapeless
