// Short constructors of common ops.
#include "tapeless/ops/build.h"

#include "tapeless/ops/ops.h"

namespace tapeless::build {

Value* constant(Builder& b, DType dtype, double value) {
  return b.make(kConstantOp, {}, {{"value", Tensor::scalar(dtype, value)}});
}

Value* constant_like(Builder& b, const Value* like, double value) {
  return constant(b, like->type.dtype, value);
}

Value* full_like(Builder& b, const Value* like, double value) {
  return broadcast_to(b, constant_like(b, like, value), like->type.shape);
}

Value* numel(Builder& b, DType dtype, const Shape& shape) {
  Dim count = tapeless::numel(shape);
  if (count.is_constant()) return constant(b, dtype, static_cast<double>(count.constant()));
  return b.make(kNumelOp, {}, {{"shape", shape}, {"dtype", dtype}});
}

Value* add(Builder& b, Value* x, Value* y) { return b.make(kAddOp, {x, y}); }
Value* sub(Builder& b, Value* x, Value* y) { return b.make(kSubOp, {x, y}); }
Value* mul(Builder& b, Value* x, Value* y) { return b.make(kMulOp, {x, y}); }
Value* mul(Builder& b, Value* x, double y) { return mul(b, x, constant_like(b, x, y)); }
Value* div(Builder& b, Value* x, Value* y) { return b.make(kDivOp, {x, y}); }
Value* neg(Builder& b, Value* x) { return b.make(kNegOp, {x}); }
Value* exp(Builder& b, Value* x) { return b.make(kExpOp, {x}); }
Value* log(Builder& b, Value* x) { return b.make(kLogOp, {x}); }
Value* sigmoid(Builder& b, Value* x) { return b.make(kSigmoidOp, {x}); }
Value* tanh(Builder& b, Value* x) { return b.make(kTanhOp, {x}); }
Value* eq(Builder& b, Value* x, Value* y) { return b.make(kEqOp, {x, y}); }
Value* eq(Builder& b, Value* x, double y) { return eq(b, x, constant_like(b, x, y)); }
Value* gt(Builder& b, Value* x, double y) { return b.make(kGtOp, {x, constant_like(b, x, y)}); }

Value* where(Builder& b, Value* condition, Value* x, Value* y) {
  return b.make(kWhereOp, {condition, x, y});
}

Value* one_minus(Builder& b, Value* x) { return sub(b, constant_like(b, x, 1), x); }

Value* keep_where(Builder& b, Value* condition, Value* x) {
  return where(b, condition, x, constant_like(b, x, 0));
}

Value* zero_where(Builder& b, Value* condition, Value* x) {
  return where(b, condition, constant_like(b, x, 0), x);
}

Value* cast(Builder& b, Value* x, DType to) {
  return x->type.dtype == to ? x : b.make(kCastOp, {x}, {{"to", to}});
}

Value* sum(Builder& b, Value* x, Ints axes, bool keepdims) {
  return b.make(kSumOp, {x}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
}

Value* max(Builder& b, Value* x, Ints axes, bool keepdims) {
  return b.make(kMaxOp, {x}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
}

Value* broadcast_to(Builder& b, Value* x, Shape shape) {
  if (x->type.shape == shape) return x;
  return b.make(kBroadcastToOp, {x}, {{"shape", std::move(shape)}});
}

Value* reshape(Builder& b, Value* x, Shape shape) {
  if (x->type.shape == shape) return x;
  return b.make(kReshapeOp, {x}, {{"shape", std::move(shape)}});
}

Value* transpose(Builder& b, Value* x, Ints permutation) {
  return b.make(kTransposeOp, {x}, {{"permutation", std::move(permutation)}});
}

Value* matmul(Builder& b, Value* x, Value* y, bool transpose_a, bool transpose_b) {
  return b.make(kMatmulOp, {x, y}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

std::vector<Value*> call(Builder& b, const std::string& callee, std::vector<Value*> arguments) {
  Op* op = b.make_op(kCallOp, std::move(arguments), {{"callee", FunctionRef{callee}}});
  std::vector<Value*> results;
  for (const auto& r : op->results) results.push_back(r.get());
  return results;
}

Value* sum_to(Builder& b, Value* x, const Shape& shape) {
  const Shape& from = x->type.shape;
  if (from == shape) return x;
  size_t added = from.size() - shape.size();
  Ints axes;
  for (size_t i = 0; i < from.size(); ++i)
    if (i < added || (shape[i - added].is(1) && !from[i].is(1)))
      axes.push_back(static_cast<int64_t>(i));
  return reshape(b, sum(b, x, std::move(axes)), shape);
}

}  // namespace tapeless::build
