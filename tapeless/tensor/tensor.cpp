// Host tensors: allocation, strided element access, copies and conversions.
#include "tapeless/tensor/tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace tapeless {

Extents dense_strides(std::span<const int64_t> shape) {
  Extents strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

int64_t product(std::span<const int64_t> values) {
  int64_t all = 1;
  for (int64_t v : values) all *= v;
  return all;
}

Tensor::Tensor(DType dtype, Extents shape) : dtype_(dtype), shape_(std::move(shape)) {
  strides_ = dense_strides(shape_);
  constexpr size_t kAlign = 64;
  size_t size = (static_cast<size_t>(bytes()) + kAlign) / kAlign * kAlign;
  data_ = std::aligned_alloc(kAlign, size);
  if (data_ == nullptr) throw std::bad_alloc();
  std::memset(data_, 0, size);
  owner_ = std::shared_ptr<void>(data_, [](void* p) { std::free(p); });
}

Tensor Tensor::view(DType dtype, Extents shape, Extents strides, void* data,
                    std::shared_ptr<void> owner) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.strides_ = std::move(strides);
  t.data_ = data;
  t.owner_ = std::move(owner);
  return t;
}

Tensor Tensor::scalar(DType dtype, double value) {
  Tensor t(dtype, {});
  t.set(0, value);
  return t;
}

bool Tensor::is_dense() const {
  if (numel() == 0) return true;
  Extents dense = dense_strides(shape_);
  for (size_t i = 0; i < shape_.size(); ++i)
    if (shape_[i] != 1 && strides_[i] != dense[i]) return false;
  return true;
}

int64_t Tensor::offset_of(int64_t i) const {
  int64_t offset = 0;
  for (size_t axis = shape_.size(); axis-- > 0;) {
    offset += i % shape_[axis] * strides_[axis];
    i /= shape_[axis];
  }
  return offset;
}

namespace {

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, BF16> || std::is_same_v<T, F16>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

// Towards zero and held within the range; NaN is 0. Compiled code casts the same.
template <class T>
T saturate(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(value);
}

template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, BF16> || std::is_same_v<T, F16>)
    return T(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else if constexpr (std::is_integral_v<T>)
    return saturate<T>(value);
  else
    return static_cast<T>(value);
}

}  // namespace

double Tensor::get(int64_t i) const {
  return visit_dtype(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return to_double(static_cast<const T*>(data_)[offset_of(i)]);
  });
}

int64_t Tensor::get_int(int64_t i) const {
  return visit_dtype(dtype_, [&](auto tag) -> int64_t {
    using T = typename decltype(tag)::type;
    T value = static_cast<const T*>(data_)[offset_of(i)];
    if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(value);
    else
      return static_cast<int64_t>(to_double(value));
  });
}

void Tensor::set(int64_t i, double value) {
  visit_dtype(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    static_cast<T*>(data_)[offset_of(i)] = from_double<T>(value);
  });
}

void Tensor::set_int(int64_t i, int64_t value) {
  visit_dtype(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>)
      static_cast<T*>(data_)[offset_of(i)] = static_cast<T>(value);
    else
      static_cast<T*>(data_)[offset_of(i)] = from_double<T>(static_cast<double>(value));
  });
}

Tensor Tensor::clone() const {
  Tensor copy(dtype_, shape_);
  if (is_dense()) {
    std::memcpy(copy.data_, data_, static_cast<size_t>(bytes()));
    return copy;
  }
  visit_dtype(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0, n = numel(); i < n; ++i)
      static_cast<T*>(copy.data_)[i] = static_cast<const T*>(data_)[offset_of(i)];
  });
  return copy;
}

Tensor Tensor::dense() const { return is_dense() ? *this : clone(); }

Tensor Tensor::reshaped(Extents shape) const {
  TL_CHECK(is_dense() && product(shape) == numel());
  return view(dtype_, shape, dense_strides(shape), data_, owner_);
}

Tensor Tensor::cast(DType dtype) const {
  Tensor out(dtype, shape_);
  bool exact = !is_float(dtype_) && !is_float(dtype);
  for (int64_t i = 0, n = numel(); i < n; ++i)
    exact ? out.set_int(i, get_int(i)) : out.set(i, get(i));
  return out;
}

std::string Tensor::type_str() const {
  return fmt::format("{}[{}]", dtype_name(dtype_), fmt::join(shape_, ", "));
}

std::string Tensor::str(int64_t max_elements) const {
  std::string out = type_str() + " {";
  int64_t n = numel();
  for (int64_t i = 0; i < std::min(n, max_elements); ++i) {
    if (i > 0) out += ", ";
    if (dtype_ == DType::kBool)
      out += get_int(i) != 0 ? "true" : "false";
    else
      out += is_float(dtype_) ? fmt::format("{:.7g}", get(i)) : fmt::format("{}", get_int(i));
  }
  return out + (n > max_elements ? ", ...}" : "}");
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  Tensor x = a.dense(), y = b.dense();
  return a.numel() == 0 || std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.bytes())) == 0;
}

}  // namespace tapeless
