#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tapeless/tensor/tensor.h"

namespace tapeless {

/// One tensor of a batch: `dtype[rows, row...]`.
struct Field {
  std::string name;
  DType dtype;
  Extents row;
};

/// The tensors of one batch, one a field, dense, in buffers that are used again for the next.
class Batch {
 public:
  int64_t rows = 0;
  std::vector<Tensor> tensors;

  /// Makes tensors[field] of this type in the field's buffer, which grows where it must.
  Tensor& resize(size_t field, DType dtype, Extents shape);

 private:
  std::vector<std::shared_ptr<Tensor>> buffers_;
};

/// Rows that can be gathered in any order, by several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t rows() const = 0;
  virtual const std::vector<Field>& fields() const = 0;
  virtual void gather(std::span<const int64_t> rows, Batch& out) const = 0;
};

}  // namespace tapeless
