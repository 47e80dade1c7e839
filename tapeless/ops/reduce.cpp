// The parts of reductions that do not depend on how values combine.
#include "tapeless/ops/reduce.h"

#include <algorithm>

#include "tapeless/ops/build.h"

namespace tapeless::reduce {

Shape extents(const Op& op) {
  Shape out;
  for (int64_t axis : axes(op)) out.push_back(op.operand_type(0).shape[static_cast<size_t>(axis)]);
  return out;
}

loop::Expr element(Elements& e, const Indices& result, const Indices& reduced) {
  Ints over = axes(e.op);
  bool keepdims = e.op.flag("keepdims");
  Indices index;
  size_t r = 0, o = 0;
  for (int64_t axis = 0; axis < e.op.operand_type(0).rank(); ++axis) {
    bool is_reduced = std::binary_search(over.begin(), over.end(), axis);
    if (is_reduced && keepdims) ++o;
    index.push_back(is_reduced ? reduced[r++] : result[o++]);
  }
  return e.operand(0, index);
}

Value* spread(Vjp& v, Value* reduced) {
  const Shape& shape = v.op.operand_type(0).shape;
  Value* kept = build::reshape(v.b, reduced, infer::reduced_shape(shape, axes(v.op), true));
  return build::broadcast_to(v.b, kept, shape);
}

void for_each(const ReferenceCall& c, const std::function<void(int64_t, int64_t)>& f) {
  Ints over = infer::reduced_axes(c.op.attrs, c.in(0).rank());
  Extents kept_shape = c.in(0).shape();
  for (int64_t axis : over) kept_shape[static_cast<size_t>(axis)] = 1;
  int64_t from = 0;
  for_each_index(c.in(0).shape(),
                 [&](const Extents& index) { f(from++, broadcast_flat(index, kept_shape)); });
}

}  // namespace tapeless::reduce
