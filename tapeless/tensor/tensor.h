#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tapeless/support/check.h"
#include "tapeless/tensor/dtype.h"

namespace tapeless {

using Extents = std::vector<int64_t>;

/// Row-major strides, in elements.
Extents dense_strides(std::span<const int64_t> shape);
int64_t product(std::span<const int64_t> values);

/// A host tensor: a view (dtype, shape, strides in elements) of shared storage. Copying a Tensor
/// copies the view; `clone` copies the elements. Storage is 64-byte aligned.
class Tensor {
 public:
  Tensor() = default;
  /// Dense, elements zero.
  Tensor(DType dtype, Extents shape);
  /// A view of memory that somebody else owns; `owner` is kept alive.
  static Tensor view(DType dtype, Extents shape, Extents strides, void* data,
                     std::shared_ptr<void> owner = nullptr);
  template <class T>
  static Tensor from(DType dtype, Extents shape, std::span<const T> values) {
    Tensor t(dtype, std::move(shape));
    TL_CHECK(t.numel() == static_cast<int64_t>(values.size()));
    for (int64_t i = 0; i < t.numel(); ++i) t.set(i, static_cast<double>(values[size_t(i)]));
    return t;
  }
  static Tensor scalar(DType dtype, double value);

  DType dtype() const { return dtype_; }
  const Extents& shape() const { return shape_; }
  const Extents& strides() const { return strides_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t dim(int axis) const { return shape_[static_cast<size_t>(axis)]; }
  int64_t numel() const { return product(shape_); }
  int64_t bytes() const { return numel() * dtype_size(dtype_); }
  bool defined() const { return data_ != nullptr; }
  bool is_dense() const;

  void* raw() const { return data_; }
  template <class T>
  T* data() const {
    TL_CHECK(sizeof(T) == static_cast<size_t>(dtype_size(dtype_)), "dtype {}", dtype_name(dtype_));
    return static_cast<T*>(data_);
  }

  /// Element number `i` in row-major order, converted; works for strided views. Not fast.
  double get(int64_t i) const;
  int64_t get_int(int64_t i) const;
  void set(int64_t i, double value);
  void set_int(int64_t i, int64_t value);

  Tensor clone() const;
  /// This tensor where dense, else a dense copy.
  Tensor dense() const;
  /// Same elements (dense tensors only), other shape.
  Tensor reshaped(Extents shape) const;
  Tensor cast(DType dtype) const;

  /// `f32[2, 3]`.
  std::string type_str() const;
  /// Type and the elements, for messages and tests.
  std::string str(int64_t max_elements = 64) const;

 private:
  int64_t offset_of(int64_t i) const;

  DType dtype_ = DType::kF32;
  Extents shape_;
  Extents strides_;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

/// Equal dtype, shape and bits.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace tapeless
