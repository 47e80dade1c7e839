// flip: the order of elements reversed along axes.
#include <algorithm>

#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  for (int64_t axis : q.attr<Ints>("axes")) infer::normalize_axis(q, axis, q.operand(0).rank());
  return {q.operand(0)};
}

void reference(ReferenceCall& c) {
  Ints axes = infer::reduced_axes(c.op.attrs, c.in(0).rank());
  int64_t to = 0;
  for_each_index(c.out().shape(), [&](const Extents& index) {
    Extents from = index;
    for (int64_t axis : axes) {
      auto at = static_cast<size_t>(axis);
      from[at] = c.out().shape()[at] - 1 - index[at];
    }
    copy_element(c.out(), to++, c.in(0), flat(from, c.in(0).shape()));
  });
}

loop::Expr element(Elements& e, int, const Indices& index) {
  Indices from = index;
  for (int64_t axis : infer::reduced_axes(e.op.attrs, e.op.operand_type(0).rank())) {
    auto at = static_cast<size_t>(axis);
    from[at] = e.size(e.op.result_type().shape[at] - 1) - index[at];
  }
  return e.operand(0, from);
}

void vjp(Vjp& v) { v.give(0, v.b.make(kFlipOp, {v.cotangent()}, v.op.attrs)); }

constexpr AttrDef kAttrs[] = {
    {.name = "axes", .kind = AttrKind::kInts, .doc = "reversed axes; may count from the end"}};
constexpr Lowering kLowering{.element = element};
constexpr OpCase kCases[] = {{.operands = "f32[3, 4]", .attrs = "axes = [1]"},
                             {.operands = "f32[3, 17]", .attrs = "axes = [0, -1]"},
                             {.operands = "i64[0]", .attrs = "axes = [0]"}};

}  // namespace

constinit const OpDef kFlipOp{
    .name = "flip",
    .doc = "x with the order of elements reversed along `axes`.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reference,
    .vjp = vjp,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
