// What the three directions of a convolution share.
#include "tapeless/ops/conv.h"

namespace tapeless::conv {

using loop::Expr;

AttrMap shared_attrs(const Op& op) {
  AttrMap attrs = op.attrs;
  attrs.erase("input_size");
  attrs.erase("kernel");
  return attrs;
}

Value* forward(Builder& b, Value* x, Value* w, const AttrMap& attrs) {
  return b.make(kConv2dOp, {x, w}, attrs);
}

Value* input_grad(Builder& b, Value* y, Value* w, const AttrMap& attrs, const Shape& x) {
  AttrMap all = attrs;
  all["input_size"] = Shape{x[2], x[3]};
  return b.make(kConv2dInputGradOp, {y, w}, std::move(all));
}

Value* weight_grad(Builder& b, Value* x, Value* y, const AttrMap& attrs, const Shape& w) {
  AttrMap all = attrs;
  all["kernel"] = Shape{w[2], w[3]};
  return b.make(kConv2dWeightGradOp, {x, y}, std::move(all));
}

void check_operands(const TypeQuery& q) {
  infer::require_float(q, 0);
  infer::require_same_dtype(q, 0, 1);
  infer::require_rank(q, 0, 4);
  infer::require_rank(q, 1, 4);
  window::check(q);
  if (q.attr<int64_t>("groups") < 1)
    q.fail("`groups` must be positive, got {}", q.attr<int64_t>("groups"));
}

Dim per_group(const TypeQuery& q, const Dim& channels) {
  int64_t groups = q.attr<int64_t>("groups");
  auto each = divide_exact(channels, groups);
  if (!each) q.fail("{} channels do not split into {} groups", channels.str(), groups);
  return *each;
}

void check_shapes(const TypeQuery& q, const Shapes& s) {
  Dim in_each = per_group(q, s.x[1]);
  per_group(q, s.w[0]);
  if (!(s.w[1] == in_each))
    q.fail("the input has {} channels a group, the weight {}: {} and {}", in_each.str(),
           s.w[1].str(), shape_str(s.x), shape_str(s.w));
  window::Window w = window::of(q.attrs);
  bool fits = s.x[0] == s.y[0] && s.w[0] == s.y[1];
  for (size_t i = 0; i < 2; ++i)
    fits = fits && window::checked_out_size(q, w.axis[i], s.x[i + 2], s.w[i + 2]) == s.y[i + 2];
  if (!fits)
    q.fail("input {}, weight {} and output {} are not of one convolution", shape_str(s.x),
           shape_str(s.w), shape_str(s.y));
}

void for_each_product(const Op& op, const Extents& x, const Extents& w, const Extents& y,
                      const std::function<void(int64_t, int64_t, int64_t)>& f) {
  window::Window win = window::of(op.attrs);
  int64_t out_each = w[0] / op.integer("groups");
  for_each_index(y, [&](const Extents& out) {
    int64_t first_channel = out[1] / out_each * w[1];
    int64_t to = flat(out, y);
    for (int64_t c = 0; c < w[1]; ++c)
      for (int64_t i = 0; i < w[2]; ++i)
        for (int64_t j = 0; j < w[3]; ++j) {
          int64_t row = out[2] * win.axis[0].stride + i * win.axis[0].dilation - win.axis[0].low;
          int64_t col = out[3] * win.axis[1].stride + j * win.axis[1].dilation - win.axis[1].low;
          if (row < 0 || row >= x[2] || col < 0 || col >= x[3]) continue;
          f(((out[0] * x[1] + first_channel + c) * x[2] + row) * x[3] + col,
            ((out[1] * w[1] + c) * w[2] + i) * w[3] + j, to);
        }
  });
}

Shape batch_space(const Op& op, const Dim& n) {
  if (!grouped(op)) return {n};
  return {n, op.integer("groups")};
}

Dim group_size(const Op& op, const Dim& channels) {
  auto each = divide_exact(channels, op.integer("groups"));
  TL_CHECK(each.has_value(), "{} channels in groups", channels.str());
  return *each;
}

Expr channel(Elements& e, const Indices& batch, const Expr& within, const Dim& channels) {
  if (!grouped(e.op)) return within;
  return batch.back() * e.size(group_size(e.op, channels)) + within;
}

}  // namespace tapeless::conv
