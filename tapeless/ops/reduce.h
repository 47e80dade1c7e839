#pragma once

#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

// What reductions over axes share. `axes` lists the reduced axes (negative ones count from the
// end; all where absent); `keepdims` keeps them with size 1.
namespace tapeless::reduce {

inline constexpr AttrDef kAttrs[] = {
    {.name = "axes",
     .kind = AttrKind::kInts,
     .optional = true,
     .doc = "reduced axes; all if absent"},
    {.name = "keepdims", .kind = AttrKind::kBool, .fallback = false, .doc = "keep them as size 1"}};

inline constexpr OpCase kCases[] = {
    {.operands = "f32[3, 4]"},
    {.operands = "f32[3, 4]", .attrs = "axes = [1]"},
    {.operands = "f32[3, 4]", .attrs = "axes = [0], keepdims = true"},
    {.operands = "f32[2, 17, 3]", .attrs = "axes = [-2]"},
    {.operands = "f32[4097]"},
    {.operands = "f32[2, 3, 5, 7]", .attrs = "axes = [0, 2, 3]"},
    {.operands = "f32[1]"},
    {.operands = "f32[300, 33]", .attrs = "axes = [0]"},
    {.operands = "f64[5, 6]", .attrs = "axes = [0]"}};

/// The reduced axes of an op over its first operand.
inline Ints axes(const Op& op) { return infer::reduced_axes(op.attrs, op.operand_type(0).rank()); }

/// Lowering: the sizes of the reduced axes, and the operand's element at both indices.
Shape extents(const Op& op);
loop::Expr element(Elements& e, const Indices& result, const Indices& reduced);

/// A cotangent (or a result) spread back over the reduced axes to the operand's shape.
Value* spread(Vjp& v, Value* reduced);

/// For every position of the operand: f(position in the operand, position in the result).
void for_each(const ReferenceCall& c, const std::function<void(int64_t, int64_t)>& f);

/// Combines by F from the given start; floats in double, integers in i64.
template <auto F, int Start>
void reference(ReferenceCall& c) {
  bool real = is_float(c.in(0).dtype());
  std::vector<double> reals(static_cast<size_t>(c.out().numel()), Start);
  std::vector<int64_t> integers(reals.size(), Start);
  for_each(c, [&](int64_t from, int64_t to) {
    auto at = static_cast<size_t>(to);
    if (real)
      reals[at] = F(reals[at], c.in(0).get(from));
    else
      integers[at] = F(integers[at], c.in(0).get_int(from));
  });
  for (int64_t i = 0; i < c.out().numel(); ++i) {
    auto at = static_cast<size_t>(i);
    real ? c.out().set(i, reals[at]) : c.out().set_int(i, integers[at]);
  }
}

}  // namespace tapeless::reduce
