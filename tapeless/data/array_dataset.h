#pragma once

#include "tapeless/data/dataset.h"

namespace tapeless {

/// (value / 255 - mean[c]) / stddev[c], c being the channel, axis 1 of a column [N, C, ...]; one
/// value serves all channels, none is mean 0 and deviation 1.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> stddev;
};

/// Columns in memory, dense, equally long.
class ArrayDataset : public Dataset {
 public:
  void add_column(std::string name, Tensor column);
  /// A u8 column whose batches are f32, normalised.
  void add_pixels(std::string name, Tensor column, const Normalization& normalization);

  int64_t rows() const override { return rows_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void gather(std::span<const int64_t> rows, Batch& out) const override;
  /// The column as it is stored.
  const Tensor& column(size_t field) const { return columns_[field].data; }

 private:
  struct Column {
    Tensor data;
    /// A value for each byte and channel; empty for a column that is copied.
    std::vector<float> table;
  };
  void add(std::string name, DType dtype, Column column);

  int64_t rows_ = 0;
  std::vector<Field> fields_;
  std::vector<Column> columns_;
};

/// Some rows of another dataset.
class SubsetDataset : public Dataset {
 public:
  SubsetDataset(std::shared_ptr<const Dataset> base, std::vector<int64_t> rows);
  int64_t rows() const override { return static_cast<int64_t>(rows_.size()); }
  const std::vector<Field>& fields() const override { return base_->fields(); }
  void gather(std::span<const int64_t> rows, Batch& out) const override;

 private:
  std::shared_ptr<const Dataset> base_;
  std::vector<int64_t> rows_;
};

struct RandomDataOptions {
  int64_t rows = 4096;
  int64_t features = 784;
  int64_t classes = 10;
  uint64_t seed = 0;
};
/// `x` f32[rows, features], standard normal, and `y` i32[rows], uniform over the classes.
std::shared_ptr<ArrayDataset> random_dataset(const RandomDataOptions& options);

}  // namespace tapeless
