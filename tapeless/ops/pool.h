#pragma once

#include "tapeless/ops/build.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"
#include "tapeless/ops/window.h"

// Pools over the last two axes of [N, C, H, W]. Their gradients pull: an input pixel sums over the
// few windows that cover it, so nothing is scattered.
namespace tapeless::pool {

inline constexpr AttrDef kKernel{
    .name = "kernel", .kind = AttrKind::kInts, .doc = "[vertical, horizontal] size of a window"};
inline constexpr AttrDef kStride{.name = "stride",
                                 .kind = AttrKind::kInts,
                                 .optional = true,
                                 .doc = "[vertical, horizontal]; the kernel if absent"};
inline constexpr AttrDef kInputSize{
    .name = "input_size", .kind = AttrKind::kShape, .doc = "[H, W] of the pool's input"};

struct Pool {
  window::Window window;
  Dim kernel[2];
};
Pool of(const AttrMap& attrs);
/// Attributes without `input_size`, and with it.
AttrMap forward_attrs(const Op& op);
AttrMap grad_attrs(const Op& op, const Shape& input);

/// Checks operand 0 [N, C, H, W] and the attributes; the pool's result shape.
Shape result_shape(const TypeQuery& q);
/// Operand 0 is [N, C, OH, OW] of the pool whose input is [N, C, input_size]: that input's shape.
Shape input_shape(const TypeQuery& q);

/// Reduced space of a pool: the kernel.
Shape kernel_extents(const Op& op);
/// The operand's element at an offset of the window of `result`; `outside` where it is padding.
loop::Expr element(Elements& e, const Indices& result, const Indices& offset, double outside);

/// Reduced space of a gradient: the windows that may cover a pixel.
Shape cover_extents(const Op& op);
/// One of these windows: its place among the outputs, and the pixel's row-major offset within it.
struct Cover {
  window::Place place;
  loop::Expr offset;
};
Cover cover(Elements& e, const Indices& pixel, const Indices& candidate);

/// Calls f(position in the input, position in the output, offset in the window) for every pixel of
/// every window.
void for_each(const Op& op, const Extents& input, const Extents& output,
              const std::function<void(int64_t, int64_t, int64_t)>& f);

}  // namespace tapeless::pool
