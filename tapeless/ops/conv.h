#pragma once

#include "tapeless/ops/build.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"
#include "tapeless/ops/window.h"

// The three directions of one convolution, y = conv2d(x, w):
//   x [N, C, H, W], w [O, C / groups, KH, KW], y [N, O, OH, OW]
//   y[n, o, p] = sum over c, k of w[o, c, k] x[n, c, p * stride + k * dilation - padding]
// conv2d gives y from x and w, conv2d_input_grad x from y and w, conv2d_weight_grad w from x and y.
// The function is linear in each pair, so each one's gradient is made of the other two.
namespace tapeless::conv {

inline constexpr AttrDef kGroups{.name = "groups",
                                 .kind = AttrKind::kInt,
                                 .fallback = int64_t{1},
                                 .doc = "channels are split into so many separate convolutions"};

/// The shapes of the three tensors, whichever of them the op makes.
struct Shapes {
  Shape x, w, y;
};

/// Attributes without the sizes that only a gradient op needs.
AttrMap shared_attrs(const Op& op);
Value* forward(Builder& b, Value* x, Value* w, const AttrMap& attrs);
Value* input_grad(Builder& b, Value* y, Value* w, const AttrMap& attrs, const Shape& x);
Value* weight_grad(Builder& b, Value* x, Value* y, const AttrMap& attrs, const Shape& w);

/// Fails unless operands are floats of one dtype and rank 4 and the attributes make sense.
void check_operands(const TypeQuery& q);
/// Fails unless the three shapes fit together.
void check_shapes(const TypeQuery& q, const Shapes& s);
/// dim / groups, or a failure.
Dim per_group(const TypeQuery& q, const Dim& channels);

/// Calls f(position in x, position in w, position in y) for every product of the sum.
void for_each_product(const Op& op, const Extents& x, const Extents& w, const Extents& y,
                      const std::function<void(int64_t, int64_t, int64_t)>& f);

inline bool grouped(const Op& op) { return op.integer("groups") != 1; }
/// [N] or [N, groups].
Shape batch_space(const Op& op, const Dim& n);
/// Channels of one group.
Dim group_size(const Op& op, const Dim& channels);
/// The channel in the whole tensor from the batch index (whose last entry is the group) and the
/// channel within the group.
loop::Expr channel(Elements& e, const Indices& batch, const loop::Expr& within,
                   const Dim& channels);

}  // namespace tapeless::conv
