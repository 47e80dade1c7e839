#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tapeless {

/// Element types. `key` is the state of the counter-based generator: a pair of u32, 8 bytes.
enum class DType : uint8_t { kF32, kF64, kBF16, kF16, kI32, kI64, kU8, kBool, kKey };

std::string_view dtype_name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);
/// Bytes of one element in memory; a bool takes one byte, 0 or 1.
int64_t dtype_size(DType dtype);

constexpr bool is_float(DType d) {
  return d == DType::kF32 || d == DType::kF64 || d == DType::kBF16 || d == DType::kF16;
}
constexpr bool is_integer(DType d) {
  return d == DType::kI32 || d == DType::kI64 || d == DType::kU8;
}

/// bfloat16: the upper half of an f32, rounded to nearest even.
struct BF16 {
  uint16_t bits = 0;
  BF16() = default;
  explicit BF16(float value);
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

/// IEEE binary16, for storage.
struct F16 {
  uint16_t bits = 0;
  F16() = default;
  explicit F16(float value);
  explicit operator float() const;
};

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls `f(TypeTag<T>{})` with the C++ type that holds an element of `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF64:
      return f(TypeTag<double>{});
    case DType::kBF16:
      return f(TypeTag<BF16>{});
    case DType::kF16:
      return f(TypeTag<F16>{});
    case DType::kI32:
      return f(TypeTag<int32_t>{});
    case DType::kI64:
      return f(TypeTag<int64_t>{});
    case DType::kU8:
      return f(TypeTag<uint8_t>{});
    case DType::kBool:
      return f(TypeTag<bool>{});
    case DType::kKey:
      break;
  }
  return f(TypeTag<uint64_t>{});
}

}  // namespace tapeless
