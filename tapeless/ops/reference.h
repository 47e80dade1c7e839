#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tapeless/ir/module.h"
#include "tapeless/tensor/tensor.h"

namespace tapeless {

/// What an op's reference implementation sees: dense host tensors, results allocated and zero.
/// References aim at clarity only; they are the oracle of every test.
class ReferenceCall {
 public:
  ReferenceCall(const Op& op, std::vector<Tensor> operands, std::vector<Tensor> results,
                const SymbolValues& symbols)
      : op(op), in_(std::move(operands)), out_(std::move(results)), symbols(symbols) {}

  const Op& op;

  const Tensor& in(int i) const { return in_[static_cast<size_t>(i)]; }
  int in_count() const { return static_cast<int>(in_.size()); }
  Tensor& out(int i = 0) { return out_[static_cast<size_t>(i)]; }
  /// The numbers of a shape attribute at this run's sizes.
  Extents dims(std::string_view attr) const { return eval_shape(op.dims(attr), symbols); }

 private:
  std::vector<Tensor> in_, out_;

 public:
  const SymbolValues& symbols;
};

/// Calls `f(index)` for every index of `shape` in row-major order; once for a scalar.
void for_each_index(std::span<const int64_t> shape, const std::function<void(const Extents&)>& f);
/// Row-major position of `index`.
int64_t flat(std::span<const int64_t> index, std::span<const int64_t> shape);
/// Position in a tensor of `shape` that is broadcast to the shape of `index` (NumPy's rule).
int64_t broadcast_flat(std::span<const int64_t> index, std::span<const int64_t> shape);

/// out[to] = in[from], exactly; both of one dtype.
void copy_element(Tensor& out, int64_t to, const Tensor& in, int64_t from);
/// All elements of a float tensor in row-major order.
std::vector<double> reals(const Tensor& t);

}  // namespace tapeless
