// Geometry of windows: sizes, and index expressions with as few masks and divisions as the
// attributes allow (none for stride 1 without padding).
#include "tapeless/ops/window.h"

namespace tapeless::window {

using loop::Expr;

namespace {

Ints ints_or(const AttrMap& attrs, std::string_view name, const Ints& fallback) {
  auto found = attrs.find(name);
  return found == attrs.end() ? fallback : std::get<Ints>(found->second);
}

}  // namespace

Window of(const AttrMap& attrs, const Ints& default_stride) {
  Ints stride = ints_or(attrs, "stride", default_stride);
  Ints padding = ints_or(attrs, "padding", {0, 0});
  Ints dilation = ints_or(attrs, "dilation", {1, 1});
  if (padding.size() == 2) padding = {padding[0], padding[0], padding[1], padding[1]};
  Window w;
  for (size_t i = 0; i < 2; ++i)
    w.axis[i] = {stride[i], padding[2 * i], padding[2 * i + 1], dilation[i]};
  return w;
}

void check_pair(const TypeQuery& q, std::string_view attr) {
  if (!q.has(attr)) return;
  const Ints& values = q.attr<Ints>(attr);
  if (values.size() != 2 || values[0] < 1 || values[1] < 1)
    q.fail("`{}` must be two positive numbers, got {}", attr, attr_str(values));
}

void check(const TypeQuery& q) {
  check_pair(q, "stride");
  check_pair(q, "dilation");
  if (!q.has("padding")) return;
  const Ints& padding = q.attr<Ints>("padding");
  bool fine = padding.size() == 2 || padding.size() == 4;
  for (int64_t p : padding) fine = fine && p >= 0;
  if (!fine)
    q.fail("`padding` must be [top, bottom, left, right] or [vertical, horizontal], got {}",
           attr_str(padding));
}

Dim out_size(const Axis& a, const Dim& in, const Dim& kernel) {
  return floordiv(in + a.low + a.high - a.dilation * (kernel - 1) - 1, a.stride) + 1;
}

Dim checked_out_size(const TypeQuery& q, const Axis& a, const Dim& in, const Dim& kernel) {
  Dim room = in + a.low + a.high - a.dilation * (kernel - 1) - 1;
  if (room.is_constant() && room.constant() < 0)
    q.fail("a window of {} (dilation {}) does not fit into {} with padding {} and {}", kernel.str(),
           a.dilation, in.str(), a.low, a.high);
  return out_size(a, in, kernel);
}

Expr both(Expr a, Expr b) {
  if (!a) return b;
  return b ? a & b : a;
}

Place input_place(Elements& e, const Window& w, const Dim in[2], const Expr out[2],
                  const Expr offset[2]) {
  Place p;
  for (int i = 0; i < 2; ++i) {
    const Axis& a = w.axis[i];
    Expr at = out[i] * a.stride + offset[i] * a.dilation - loop::i64(a.low);
    // Only padding on that side lets a window hang over an edge.
    if (a.low > 0) p.inside = both(p.inside, at >= loop::i64(0));
    if (a.high > 0) p.inside = both(p.inside, at < e.size(in[i]));
    p.index[i] = at;
  }
  return p;
}

Place output_place(Elements& e, const Window& w, const Dim out_sizes[2], const Dim kernel[2],
                   const Expr position[2], const Expr offset[2]) {
  Place p;
  for (int i = 0; i < 2; ++i) {
    const Axis& a = w.axis[i];
    Expr shifted = position[i] + loop::i64(a.low) - offset[i] * a.dilation;
    Expr at = a.stride == 1 ? shifted : shifted / loop::i64(a.stride);
    if (a.stride > 1)
      p.inside = both(p.inside, loop::eq(shifted % loop::i64(a.stride), loop::i64(0)));
    // A kernel of one position starts in the input and, with stride 1, ends there.
    bool point = kernel[i].is(1);
    if (!point) p.inside = both(p.inside, shifted >= loop::i64(0));
    if (!point || a.stride > 1 || a.high > 0 || a.low > 0)
      p.inside = both(p.inside, at < e.size(out_sizes[i]));
    p.index[i] = at;
  }
  return p;
}

}  // namespace tapeless::window
