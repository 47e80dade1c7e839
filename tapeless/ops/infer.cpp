// Type rules shared by families of ops.
#include "tapeless/ops/infer.h"

#include <algorithm>

namespace tapeless::infer {

namespace {

bool numeric(DType d) { return is_float(d) || is_integer(d); }

// Ops that know row-sparse values look for them first; no other op takes one.
void require_dense(const TypeQuery& q, int i) {
  if (q.operand(i).row_sparse) q.fail("does not take {}: densify it", q.operand(i).str());
}

}  // namespace

void require_same_dtype(const TypeQuery& q, int a, int b) {
  if (q.operand(a).dtype != q.operand(b).dtype)
    q.fail("dtypes differ: {} and {}", q.operand(a).str(), q.operand(b).str());
}

void require_float(const TypeQuery& q, int i) {
  require_dense(q, i);
  if (!is_float(q.operand(i).dtype)) q.fail("expected floats, got {}", q.operand(i).str());
}

void require_integer(const TypeQuery& q, int i) {
  if (!is_integer(q.operand(i).dtype)) q.fail("expected integers, got {}", q.operand(i).str());
}

void require_numeric(const TypeQuery& q, int i) {
  require_dense(q, i);
  if (!numeric(q.operand(i).dtype)) q.fail("expected numbers, got {}", q.operand(i).str());
}

void require_rank(const TypeQuery& q, int i, int rank) {
  if (q.operand(i).rank() != rank)
    q.fail("operand {} must have rank {}, got {}", i, rank, q.operand(i).str());
}

Shape broadcast(const TypeQuery& q, int a, int b) {
  auto shape = broadcast_shapes(q.operand(a).shape, q.operand(b).shape);
  if (!shape) q.fail("shapes do not broadcast: {} and {}", q.operand(a).str(), q.operand(b).str());
  return *shape;
}

std::vector<Type> same_float(const TypeQuery& q) {
  require_float(q, 0);
  return {q.operand(0)};
}

std::vector<Type> same_numeric(const TypeQuery& q) {
  require_numeric(q, 0);
  return {q.operand(0)};
}

std::vector<Type> float_to_bool(const TypeQuery& q) {
  require_float(q, 0);
  return {q.operand(0).with_dtype(DType::kBool)};
}

std::vector<Type> broadcast_numeric(const TypeQuery& q) {
  require_same_dtype(q, 0, 1);
  require_numeric(q, 0);
  require_numeric(q, 1);
  return {Type(q.operand(0).dtype, broadcast(q, 0, 1))};
}

std::vector<Type> broadcast_float(const TypeQuery& q) {
  require_float(q, 0);
  return broadcast_numeric(q);
}

std::vector<Type> broadcast_compare(const TypeQuery& q) {
  require_same_dtype(q, 0, 1);
  if (q.operand(0).dtype != DType::kBool) require_numeric(q, 0);
  return {Type(DType::kBool, broadcast(q, 0, 1))};
}

std::vector<Type> broadcast_order(const TypeQuery& q) {
  require_numeric(q, 0);
  return broadcast_compare(q);
}

std::vector<Type> broadcast_logical(const TypeQuery& q) {
  for (int i = 0; i < 2; ++i)
    if (q.operand(i).dtype != DType::kBool) q.fail("expected bools, got {}", q.operand(i).str());
  return {Type(DType::kBool, broadcast(q, 0, 1))};
}

int64_t normalize_axis(const TypeQuery& q, int64_t axis, int rank) {
  int64_t positive = axis < 0 ? axis + rank : axis;
  if (positive < 0 || positive >= rank)
    q.fail("axis {} is outside of {}", axis, q.operand(0).str());
  return positive;
}

Ints reduced_axes(const AttrMap& attrs, int rank) {
  Ints axes;
  auto found = attrs.find("axes");
  if (found == attrs.end()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  for (int64_t axis : std::get<Ints>(found->second)) axes.push_back(axis < 0 ? axis + rank : axis);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

Shape reduced_shape(const Shape& shape, const Ints& axes, bool keepdims) {
  Shape out;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (!reduced) out.push_back(shape[i]);
    if (reduced && keepdims) out.push_back(1);
  }
  return out;
}

Shape reduce_any(const TypeQuery& q) {
  const Type& x = q.operand(0);
  if (q.has("axes"))
    for (int64_t axis : q.attr<Ints>("axes")) normalize_axis(q, axis, x.rank());
  return reduced_shape(x.shape, reduced_axes(q.attrs, x.rank()), q.attr<bool>("keepdims"));
}

std::vector<Type> reduce_numeric(const TypeQuery& q) {
  require_numeric(q, 0);
  return {q.operand(0).with_shape(reduce_any(q))};
}

std::vector<Type> reduce_float(const TypeQuery& q) {
  require_float(q, 0);
  return reduce_numeric(q);
}

}  // namespace tapeless::infer
