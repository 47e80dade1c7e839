#pragma once

#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"

// What convolutions and pools over the last two axes of [N, C, H, W] share: where a window lies.
//   position = out * stride + offset * dilation - low,   0 <= offset < kernel
namespace tapeless::window {

/// One axis of a window; `low` and `high` are the padding on both sides.
struct Axis {
  int64_t stride = 1, low = 0, high = 0, dilation = 1;
  bool padded() const { return low > 0 || high > 0; }
};
struct Window {
  Axis axis[2];
};

inline constexpr AttrDef kStride{.name = "stride",
                                 .kind = AttrKind::kInts,
                                 .optional = true,
                                 .doc = "[vertical, horizontal]; [1, 1] if absent"};
inline constexpr AttrDef kPadding{
    .name = "padding",
    .kind = AttrKind::kInts,
    .optional = true,
    .doc = "[top, bottom, left, right], or [vertical, horizontal]; none if absent"};
inline constexpr AttrDef kDilation{.name = "dilation",
                                   .kind = AttrKind::kInts,
                                   .optional = true,
                                   .doc = "[vertical, horizontal]; [1, 1] if absent"};

/// The attributes stride, padding and dilation; `default_stride` where there is none.
Window of(const AttrMap& attrs, const Ints& default_stride = {1, 1});
/// Fails where the attributes have wrong lengths or values.
void check(const TypeQuery& q);
/// A pair of positive numbers.
void check_pair(const TypeQuery& q, std::string_view attr);

/// Positions of a window along an axis: (in + low + high - dilation (kernel - 1) - 1) // stride
/// + 1.
Dim out_size(const Axis& a, const Dim& in, const Dim& kernel);
/// The same, where a window that does not fit into a known size fails.
Dim checked_out_size(const TypeQuery& q, const Axis& a, const Dim& in, const Dim& kernel);

/// Where an element is read: its indices along both axes, and the condition that they lie inside
/// (null where they always do).
struct Place {
  loop::Expr index[2];
  loop::Expr inside;
};
/// out, offset -> position in the padded-away input.
Place input_place(Elements& e, const Window& w, const Dim in[2], const loop::Expr out[2],
                  const loop::Expr offset[2]);
/// position in the input, offset -> the window `out` that reads it at that offset, if there is one.
Place output_place(Elements& e, const Window& w, const Dim out_sizes[2], const Dim kernel[2],
                   const loop::Expr position[2], const loop::Expr offset[2]);

/// a and b; either may be null for true.
loop::Expr both(loop::Expr a, loop::Expr b);

}  // namespace tapeless::window
