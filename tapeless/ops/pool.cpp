// What pools share: geometry, checks and the pull form of gradients.
#include "tapeless/ops/pool.h"

namespace tapeless::pool {

using loop::Expr;

namespace {

// Size of a window with its gaps.
int64_t span_of(const window::Axis& a, const Dim& kernel) {
  return a.dilation * (kernel.constant() - 1) + 1;
}

void check_attrs(const TypeQuery& q) {
  infer::require_numeric(q, 0);
  infer::require_rank(q, 0, 4);
  window::check(q);
  window::check_pair(q, "kernel");
  Pool p = of(q.attrs);
  for (int i = 0; i < 2; ++i) {
    const window::Axis& a = p.window.axis[i];
    int64_t span = span_of(a, p.kernel[i]);
    if (2 * a.low > span || 2 * a.high > span)
      q.fail("padding {} and {} is more than half of a window of {}", a.low, a.high, span);
  }
}

}  // namespace

Pool of(const AttrMap& attrs) {
  const Ints& kernel = std::get<Ints>(attrs.find("kernel")->second);
  return {window::of(attrs, kernel), {kernel[0], kernel[1]}};
}

AttrMap forward_attrs(const Op& op) {
  AttrMap attrs = op.attrs;
  attrs.erase("input_size");
  return attrs;
}

AttrMap grad_attrs(const Op& op, const Shape& input) {
  AttrMap attrs = op.attrs;
  attrs["input_size"] = Shape{input[2], input[3]};
  return attrs;
}

Shape result_shape(const TypeQuery& q) {
  check_attrs(q);
  const Shape& x = q.operand(0).shape;
  Pool p = of(q.attrs);
  Shape y = {x[0], x[1]};
  for (size_t i = 0; i < 2; ++i)
    y.push_back(window::checked_out_size(q, p.window.axis[i], x[i + 2], p.kernel[i]));
  return y;
}

Shape input_shape(const TypeQuery& q) {
  check_attrs(q);
  const Shape &y = q.operand(0).shape, &size = q.attr<Shape>("input_size");
  if (size.size() != 2) q.fail("`input_size` must be [H, W], got {}", shape_str(size));
  Pool p = of(q.attrs);
  for (size_t i = 0; i < 2; ++i)
    if (!(window::checked_out_size(q, p.window.axis[i], size[i], p.kernel[i]) == y[i + 2]))
      q.fail("an input of {} is not pooled to {}", shape_str(size), q.operand(0).str());
  return {y[0], y[1], size[0], size[1]};
}

Shape kernel_extents(const Op& op) {
  Pool p = of(op.attrs);
  return {p.kernel[0], p.kernel[1]};
}

Expr element(Elements& e, const Indices& result, const Indices& offset, double outside) {
  window::Window w = of(e.op.attrs).window;
  const Shape& x = e.op.operand_type(0).shape;
  window::Place p = window::input_place(e, w, &x[2], &result[2], offset.data());
  Expr value = e.operand(0, {result[0], result[1], p.index[0], p.index[1]}, p.inside);
  if (!p.inside || outside == 0) return value;
  return loop::select(p.inside, value, loop::literal_like(value, outside));
}

Shape cover_extents(const Op& op) {
  Pool p = of(op.attrs);
  Shape extents;
  for (int i = 0; i < 2; ++i) {
    const window::Axis& a = p.window.axis[i];
    extents.emplace_back((span_of(a, p.kernel[i]) + a.stride - 1) / a.stride);
  }
  return extents;
}

// The last window that covers position q = pixel + low starts at stride * (q // stride); candidate
// j is the one j strides before it.
Cover cover(Elements& e, const Indices& pixel, const Indices& candidate) {
  Pool p = of(e.op.attrs);
  const Shape& y = e.op.operand_type(0).shape;
  Shape candidates = cover_extents(e.op);
  Cover c;
  Expr offsets[2];
  for (size_t i = 0; i < 2; ++i) {
    const window::Axis& a = p.window.axis[i];
    const Dim& extent = e.op.result_type().shape[i + 2];
    bool several = !candidates[i].is(1);
    Expr at = pixel[i + 2] + loop::i64(a.low);
    Expr out = a.stride == 1 ? at : at / loop::i64(a.stride);
    Expr offset = a.stride == 1 ? loop::i64(0) : at % loop::i64(a.stride);
    if (several) {
      out = out - candidate[i];
      offset = offset + candidate[i] * a.stride;
      c.place.inside = window::both(c.place.inside, out >= loop::i64(0));
    }
    Dim last = floordiv(extent - 1 + a.low, a.stride);
    if (!(last == y[i + 2] - 1))
      c.place.inside = window::both(c.place.inside, out < e.size(y[i + 2]));
    if (a.dilation > 1) {
      c.place.inside =
          window::both(c.place.inside, loop::eq(offset % loop::i64(a.dilation), loop::i64(0)));
      offset = offset / loop::i64(a.dilation);
    }
    if (candidates[i].constant() * a.stride > span_of(a, p.kernel[i]))
      c.place.inside = window::both(c.place.inside, offset < loop::i64(p.kernel[i].constant()));
    c.place.index[i] = out;
    offsets[i] = offset;
  }
  c.offset = offsets[0] * p.kernel[1].constant() + offsets[1];
  return c;
}

void for_each(const Op& op, const Extents& input, const Extents& output,
              const std::function<void(int64_t, int64_t, int64_t)>& f) {
  Pool p = of(op.attrs);
  const window::Axis &v = p.window.axis[0], &h = p.window.axis[1];
  int64_t to = 0;
  for_each_index(output, [&](const Extents& out) {
    for (int64_t i = 0; i < p.kernel[0].constant(); ++i)
      for (int64_t j = 0; j < p.kernel[1].constant(); ++j) {
        int64_t row = out[2] * v.stride + i * v.dilation - v.low;
        int64_t column = out[3] * h.stride + j * h.dilation - h.low;
        if (row < 0 || row >= input[2] || column < 0 || column >= input[3]) continue;
        f(((out[0] * input[1] + out[1]) * input[2] + row) * input[3] + column, to,
          i * p.kernel[1].constant() + j);
      }
    ++to;
  });
}

}  // namespace tapeless::pool
