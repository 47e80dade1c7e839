// Index arithmetic shared by the lowering of all ops.
#include "tapeless/ops/lowering.h"

namespace tapeless {

using loop::Expr;

loop::Type scalar_type(DType dtype) { return {loop::elem_of(dtype), 1}; }

Expr Elements::broadcast_operand(int i, const Indices& index, Expr mask) {
  const Shape& shape = op.operand_type(i).shape;
  size_t skip = index.size() - shape.size();
  Indices at;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    at.push_back(shape[axis].is(1) ? loop::i64(0) : index[axis + skip]);
  return operand(i, at, std::move(mask));
}

Expr Elements::flat(const Indices& index, const Shape& shape) {
  Expr position = loop::i64(0);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    position = position * size(shape[axis]) + index[axis];
  return position;
}

Indices Elements::unflatten(Expr position, const Shape& shape) {
  Indices index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (axis == 0) {
      index[0] = position;
      break;
    }
    Expr extent = size(shape[axis]);
    index[axis] = position % extent;
    position = position / extent;
  }
  return index;
}

}  // namespace tapeless
