// Types: printing and the broadcasting rule.
#include "tapeless/ir/type.h"

#include <algorithm>

namespace tapeless {

Type Type::sparse(DType d, Shape s, Dim stored_rows) {
  Type t(d, std::move(s));
  t.row_sparse = true;
  t.rows = std::move(stored_rows);
  return t;
}

Type Type::with_dtype(DType d) const {
  Type t = *this;
  t.dtype = d;
  return t;
}

std::string Type::str() const {
  if (dtype == DType::kKey && shape.empty()) return "key";
  std::string out = row_sparse ? "row_sparse<" + rows.str() + "> " : "";
  return out + std::string(dtype_name(dtype)) + shape_str(shape);
}

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& x = out[out.size() - 1 - i];
    const Dim& y = shorter[shorter.size() - 1 - i];
    if (x.is(1))
      x = y;
    else if (!y.is(1) && !(x == y))
      return std::nullopt;
  }
  return out;
}

}  // namespace tapeless
