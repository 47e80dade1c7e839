#pragma once

#include <string>
#include <vector>

#include "tapeless/ir/dim.h"
#include "tapeless/tensor/dtype.h"

namespace tapeless {

/// The type of a value: element type and symbolic shape. A row-sparse value is the matrix `shape`
/// given by `rows` (indices i64[rows], values [rows, shape[1..]]); absent rows are zero and an
/// index may repeat (its values add up).
struct Type {
  DType dtype = DType::kF32;
  Shape shape;
  bool row_sparse = false;
  Dim rows;

  Type() = default;
  Type(DType d, Shape s) : dtype(d), shape(std::move(s)) {}
  static Type key() { return {DType::kKey, {}}; }
  static Type sparse(DType d, Shape s, Dim stored_rows);

  int rank() const { return static_cast<int>(shape.size()); }
  bool is_scalar() const { return shape.empty(); }
  Type with_shape(Shape s) const { return {dtype, std::move(s)}; }
  Type with_dtype(DType d) const;

  /// `f32[B, 784]`, `key`, `row_sparse<T> f32[N, 16]`.
  std::string str() const;
  friend bool operator==(const Type&, const Type&) = default;
};

/// NumPy's rule: trailing dimensions align, a size of 1 stretches. Empty where they do not fit.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace tapeless
