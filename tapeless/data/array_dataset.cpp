// Datasets in memory: columns gathered row by row, bytes normalised through a table on the way.
#include "tapeless/data/array_dataset.h"

#include <cstring>

#include "tapeless/data/order.h"
#include "tapeless/support/diagnostics.h"

namespace tapeless {

namespace {

double of_channel(const std::vector<double>& values, int64_t channel, double absent) {
  if (values.empty()) return absent;
  return values.size() == 1 ? values[0] : values[static_cast<size_t>(channel)];
}

Extents row_shape(const Tensor& column) {
  return {column.shape().begin() + 1, column.shape().end()};
}

}  // namespace

Tensor& Batch::resize(size_t field, DType dtype, Extents shape) {
  if (tensors.size() <= field) {
    tensors.resize(field + 1);
    buffers_.resize(field + 1);
  }
  int64_t bytes = product(shape) * dtype_size(dtype);
  if (buffers_[field] == nullptr || buffers_[field]->bytes() < bytes)
    buffers_[field] = std::make_shared<Tensor>(DType::kU8, Extents{bytes});
  Extents strides = dense_strides(shape);
  tensors[field] = Tensor::view(dtype, std::move(shape), std::move(strides), buffers_[field]->raw(),
                                buffers_[field]);
  return tensors[field];
}

void ArrayDataset::add_column(std::string name, Tensor column) {
  DType dtype = column.dtype();
  add(std::move(name), dtype, {std::move(column), {}});
}

void ArrayDataset::add_pixels(std::string name, Tensor column, const Normalization& n) {
  TL_CHECK(column.dtype() == DType::kU8 && column.rank() >= 2);
  int64_t channels = column.rank() >= 3 ? column.dim(1) : 1;
  for (const std::vector<double>* values : {&n.mean, &n.stddev})
    if (values->size() > 1 && static_cast<int64_t>(values->size()) != channels)
      data_error("`{}` has {} channels, its normalisation {}", name, channels, values->size());
  std::vector<float> table;
  for (int64_t c = 0; c < channels; ++c)
    for (int value = 0; value < 256; ++value) {
      float unit = static_cast<float>(value) / 255.0F;
      table.push_back((unit - static_cast<float>(of_channel(n.mean, c, 0))) /
                      static_cast<float>(of_channel(n.stddev, c, 1)));
    }
  add(std::move(name), DType::kF32, {std::move(column), std::move(table)});
}

void ArrayDataset::add(std::string name, DType dtype, Column column) {
  TL_CHECK(column.data.rank() >= 1 && column.data.is_dense());
  if (columns_.empty()) rows_ = column.data.dim(0);
  if (column.data.dim(0) != rows_)
    data_error("`{}` has {} rows, `{}` has {}", name, column.data.dim(0), fields_[0].name, rows_);
  fields_.push_back({std::move(name), dtype, row_shape(column.data)});
  columns_.push_back(std::move(column));
}

void ArrayDataset::gather(std::span<const int64_t> rows, Batch& out) const {
  out.rows = static_cast<int64_t>(rows.size());
  for (size_t f = 0; f < fields_.size(); ++f) {
    const auto& [data, table] = columns_[f];
    Extents shape = fields_[f].row;
    size_t elements = static_cast<size_t>(product(shape));
    shape.insert(shape.begin(), out.rows);
    Tensor& to = out.resize(f, fields_[f].dtype, std::move(shape));
    size_t row_bytes = elements * static_cast<size_t>(dtype_size(data.dtype()));
    for (size_t i = 0; i < rows.size(); ++i) {
      TL_CHECK(rows[i] >= 0 && rows[i] < rows_);
      const auto* from = static_cast<const uint8_t*>(data.raw()) + row_bytes * size_t(rows[i]);
      if (table.empty()) {
        std::memcpy(static_cast<char*>(to.raw()) + row_bytes * i, from, row_bytes);
        continue;
      }
      size_t plane = elements / (table.size() / 256);
      float* pixels = to.data<float>() + elements * i;
      for (const float* values = table.data(); values < table.data() + table.size(); values += 256)
        for (size_t j = 0; j < plane; ++j) *pixels++ = values[*from++];
    }
  }
}

SubsetDataset::SubsetDataset(std::shared_ptr<const Dataset> base, std::vector<int64_t> rows)
    : base_(std::move(base)), rows_(std::move(rows)) {}

void SubsetDataset::gather(std::span<const int64_t> rows, Batch& out) const {
  std::vector<int64_t> of_base;
  of_base.reserve(rows.size());
  for (int64_t row : rows) of_base.push_back(rows_[static_cast<size_t>(row)]);
  base_->gather(of_base, out);
}

std::shared_ptr<ArrayDataset> random_dataset(const RandomDataOptions& options) {
  Tensor x(DType::kF32, {options.rows, options.features});
  for (int64_t i = 0; i < x.numel(); ++i)
    x.data<float>()[i] = static_cast<float>(data_normal(options.seed, 0, static_cast<uint64_t>(i)));
  Tensor y(DType::kI32, {options.rows});
  for (int64_t i = 0; i < options.rows; ++i)
    y.data<int32_t>()[i] = static_cast<int32_t>(
        data_bits(options.seed, 1, static_cast<uint64_t>(i)) % uint64_t(options.classes));
  auto dataset = std::make_shared<ArrayDataset>();
  dataset->add_column("x", std::move(x));
  dataset->add_column("y", std::move(y));
  return dataset;
}

}  // namespace tapeless
