// Index helpers of the reference implementations.
#include "tapeless/ops/reference.h"

namespace tapeless {

void for_each_index(std::span<const int64_t> shape, const std::function<void(const Extents&)>& f) {
  if (product(shape) == 0) return;
  Extents index(shape.size(), 0);
  while (true) {
    f(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

int64_t flat(std::span<const int64_t> index, std::span<const int64_t> shape) {
  int64_t position = 0;
  for (size_t i = 0; i < shape.size(); ++i) position = position * shape[i] + index[i];
  return position;
}

int64_t broadcast_flat(std::span<const int64_t> index, std::span<const int64_t> shape) {
  int64_t position = 0;
  size_t skip = index.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    position = position * shape[i] + (shape[i] == 1 ? 0 : index[i + skip]);
  return position;
}

void copy_element(Tensor& out, int64_t to, const Tensor& in, int64_t from) {
  if (is_float(in.dtype()))
    out.set(to, in.get(from));
  else
    out.set_int(to, in.get_int(from));
}

std::vector<double> reals(const Tensor& t) {
  std::vector<double> values(static_cast<size_t>(t.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = t.get(static_cast<int64_t>(i));
  return values;
}

}  // namespace tapeless
