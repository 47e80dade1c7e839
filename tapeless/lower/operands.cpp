// What a contraction's factors look like in memory, and which way round the product is computed.
//
// Estimated cost of one step of k, in moves of an element: a column costs 1/4 where vectors are
// loads, 0.4 where they are cut into segments, 1.5 where they are gathered; a row costs 1, or
// nothing where it is read in place. The transposed product stores its results one by one. So a
// convolution's weight gradient broadcasts the image in place and packs only the cotangent.
#include "tapeless/lower/operands.h"

#include "tapeless/ir/op_def.h"
#include "tapeless/lower/affine.h"

namespace tapeless::lowering {

using loop::Expr;

namespace {

constexpr int64_t kUnknownSize = 512;
constexpr int64_t kShortestRun = 8;  // of an inner k loop read in place, and of a segment

double estimate(const Shape& shape) {
  double size = 1;
  for (const Dim& d : shape)
    size *= static_cast<double>(d.is_constant() ? d.constant() : kUnknownSize);
  return size;
}

bool long_enough(const Shape& shape) {
  return estimate(shape) >= static_cast<double>(kShortestRun);
}

Indices fresh(const Shape& shape) {
  Indices index;
  for (const Dim& d : shape) index.push_back(d.is(1) ? loop::i64(0) : loop::var("p"));
  return index;
}

Shape last(const Shape& shape, size_t count) {
  return {shape.end() - static_cast<std::ptrdiff_t>(count), shape.end()};
}

// Indices of `shape` whose last `flat` dimensions follow from one variable.
Indices partly_flat(Region& region, const Shape& shape, size_t flat, const Expr& var) {
  Indices index = fresh({shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(flat)});
  for (const Expr& i : region.split(var, last(shape, flat))) index.push_back(i);
  return index;
}

double columns_cost(const Layout& layout) {
  switch (layout.lanes) {
    case Layout::Lanes::kFlat:
      return 0.25;
    case Layout::Lanes::kSegments:
      return 0.4;
    case Layout::Lanes::kGathered:
      break;
  }
  return 1.5;
}

double cost(const Factor& rows, const Layout& rows_layout, const Factor& columns,
            const Layout& columns_layout) {
  return estimate(columns.own) * columns_cost(columns_layout) +
         (rows_layout.linear_k > 0 ? 0 : estimate(rows.own));
}

}  // namespace

Layout inspect(Region& region, const Op& op, const Factor& factor) {
  const Contraction& how = *op.def().lower->contraction;
  Contraction::Spaces spaces = how.spaces(op);
  OperandElements elements(region, op);
  Layout out;
  Expr var = loop::var("v");
  auto along_own = [&](size_t flat) {
    return factor.element(elements, how, fresh(spaces.batch),
                          partly_flat(region, factor.own, flat, var), fresh(spaces.k));
  };
  if (contiguous_in(along_own(factor.own.size()), var))
    out.lanes = Layout::Lanes::kFlat;
  else if (long_enough(last(factor.own, 1)) && contiguous_in(along_own(1), var))
    out.lanes = Layout::Lanes::kSegments;
  loop::Elem elem = loop::elem_of(op.result_type().dtype);
  for (size_t flat = spaces.k.size(); flat > 0 && out.linear_k == 0; --flat) {
    if (flat < spaces.k.size() && !long_enough(last(spaces.k, flat))) break;
    Expr e = factor.element(elements, how, fresh(spaces.batch), fresh(factor.own),
                            partly_flat(region, spaces.k, flat, var));
    if (e->kind == loop::ExprKind::kLoad && e->args.size() == 1 && e->type.elem == elem &&
        affine_in(e->args[0], var))
      out.linear_k = flat;
  }
  return out;
}

Orientation orient(Region& region, const Op& op) {
  Contraction::Spaces spaces = op.def().lower->contraction->spaces(op);
  Factor a{true, spaces.m}, b{false, spaces.n};
  Layout a_layout = inspect(region, op, a), b_layout = inspect(region, op, b);
  double straight = cost(a, a_layout, b, b_layout);
  double stores = 3 * estimate(spaces.m) * estimate(spaces.n) / std::max(1.0, estimate(spaces.k));
  double transposed = cost(b, b_layout, a, a_layout) + stores;
  if (transposed < 0.6 * straight) return {b, a, b_layout, a_layout};
  return {a, b, a_layout, b_layout};
}

}  // namespace tapeless::lowering
