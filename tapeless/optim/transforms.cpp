// Whole-gradient transforms: clipping and tests for finite values.
#include "tapeless/optim/transforms.h"

#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"

namespace tapeless::optim {

namespace {

Ints all_axes(const Value* x) {
  Ints axes;
  for (int i = 0; i < x->type.rank(); ++i) axes.push_back(i);
  return axes;
}

Value* sum_all(Builder& b, Value* x) {
  return x->type.is_scalar() ? x : build::sum(b, x, all_axes(x));
}

// The largest magnitude of all gradients, f64[]; 1 where it is 0.
Value* largest(Builder& b, std::span<Value* const> gradients) {
  Value* all = nullptr;
  for (Value* g : gradients) {
    Value* magnitude = b.make(kMaxOp, {b.make(kAbsOp, {g})}, {{"axes", all_axes(g)}});
    magnitude = build::cast(b, magnitude, DType::kF64);
    all = all == nullptr ? magnitude : b.make(kMaximumOp, {all, magnitude});
  }
  Value* zero = build::constant(b, DType::kF64, 0);
  return b.make(kWhereOp, {b.make(kEqOp, {all, zero}), build::constant(b, DType::kF64, 1), all});
}

}  // namespace

Norm global_norm(Builder& b, std::span<Value* const> gradients) {
  Norm out;
  bool wide = false;
  for (const Value* g : gradients) wide = wide || g->type.dtype == DType::kF64;
  Value* scale = wide ? largest(b, gradients) : nullptr;
  Value* total = nullptr;
  for (Value* g : gradients) {
    Value* x = build::cast(b, g, DType::kF64);
    if (scale != nullptr) x = b.make(kDivOp, {x, scale});
    Value* squares = sum_all(b, build::mul(b, x, x));
    out.witnesses.push_back(wide ? g : squares);
    total = total == nullptr ? squares : build::add(b, total, squares);
  }
  if (total == nullptr) total = build::constant(b, DType::kF64, 0);
  out.norm = b.make(kSqrtOp, {total});
  if (scale != nullptr) out.norm = build::mul(b, out.norm, scale);
  return out;
}

std::vector<Value*> clip_by_norm(Builder& b, std::span<Value* const> gradients, Value* norm,
                                 Value* max_norm) {
  Value* guarded = build::add(b, norm, build::constant(b, DType::kF64, 1e-6));
  Value* factor = b.make(kDivOp, {max_norm, guarded});
  factor = b.make(kMinimumOp, {factor, build::constant(b, DType::kF64, 1)});
  std::vector<Value*> out;
  for (Value* g : gradients) out.push_back(build::mul(b, g, build::cast(b, factor, g->type.dtype)));
  return out;
}

std::vector<Value*> clip_by_value(Builder& b, std::span<Value* const> gradients, Value* limit) {
  std::vector<Value*> out;
  for (Value* g : gradients) {
    Value* high = build::cast(b, limit, g->type.dtype);
    out.push_back(b.make(kMinimumOp, {b.make(kMaximumOp, {g, build::neg(b, high)}), high}));
  }
  return out;
}

// x * 0 is 0 for finite x and NaN otherwise; the sum of zeros is 0.
Value* all_finite(Builder& b, Value* x) {
  Value* zeros = sum_all(b, build::mul(b, x, 0.0));
  return b.make(kEqOp, {zeros, build::constant_like(b, zeros, 0)});
}

}  // namespace tapeless::optim
