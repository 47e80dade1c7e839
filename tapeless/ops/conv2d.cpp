// conv2d: two-dimensional convolution (as deep learning means it: no flip of the kernel).
#include "tapeless/ops/conv.h"

namespace tapeless {

namespace {

constexpr AttrDef kAttrs[] = {window::kStride, window::kPadding, window::kDilation, conv::kGroups};

std::vector<Type> result_type(const TypeQuery& q) {
  conv::check_operands(q);
  const Type &x = q.operand(0), &w = q.operand(1);
  window::Window win = window::of(q.attrs);
  Shape y = {x.shape[0], w.shape[0]};
  for (size_t i = 0; i < 2; ++i)
    y.push_back(window::checked_out_size(q, win.axis[i], x.shape[i + 2], w.shape[i + 2]));
  conv::check_shapes(q, {x.shape, w.shape, y});
  return {x.with_shape(y)};
}

void reference(ReferenceCall& c) {
  auto x = reals(c.in(0)), w = reals(c.in(1));
  std::vector<double> y(static_cast<size_t>(c.out().numel()));
  conv::for_each_product(c.op, c.in(0).shape(), c.in(1).shape(), c.out().shape(),
                         [&](int64_t from, int64_t weight, int64_t to) {
                           y[size_t(to)] += x[size_t(from)] * w[size_t(weight)];
                         });
  for (size_t i = 0; i < y.size(); ++i) c.out().set(static_cast<int64_t>(i), y[i]);
}

// dx and dw are the other two directions.
void vjp(Vjp& v) {
  AttrMap attrs = conv::shared_attrs(v.op);
  Value *x = v.operand(0), *w = v.operand(1), *dy = v.cotangent();
  if (v.needs(0)) v.give(0, conv::input_grad(v.b, dy, w, attrs, x->type.shape));
  if (v.needs(1)) v.give(1, conv::weight_grad(v.b, x, dy, attrs, w->type.shape));
}

// Implicit GEMM, one for each image and group: rows are output channels, columns output pixels,
// so vectors run along the width of x and y.
Contraction::Spaces spaces(const Op& op) {
  const Shape &w = op.operand_type(1).shape, &y = op.result_type().shape;
  return {.batch = conv::batch_space(op, y[0]),
          .m = {conv::group_size(op, y[1])},
          .n = {y[2], y[3]},
          .k = {w[1], w[2], w[3]}};
}

loop::Expr weight(Elements& e, const Indices& batch, const Indices& m, const Indices& k) {
  const Dim& channels = e.op.result_type().shape[1];
  return e.operand(1, {conv::channel(e, batch, m[0], channels), k[0], k[1], k[2]});
}

loop::Expr input(Elements& e, const Indices& batch, const Indices& k, const Indices& n) {
  const Shape& x = e.op.operand_type(0).shape;
  window::Place p = window::input_place(e, window::of(e.op.attrs), &x[2], &n[0], &k[1]);
  return e.operand(0, {batch[0], conv::channel(e, batch, k[0], x[1]), p.index[0], p.index[1]},
                   p.inside);
}

Indices result(Elements& e, const Indices& batch, const Indices& m, const Indices& n) {
  return {batch[0], conv::channel(e, batch, m[0], e.op.result_type().shape[1]), n[0], n[1]};
}

constexpr Contraction kContraction{.spaces = spaces, .a = weight, .b = input, .result = result};
constexpr Lowering kLowering{.contraction = &kContraction};

constexpr OpCase kCases[] = {
    {.operands = "f32[2, 3, 7, 9], f32[4, 3, 3, 3]"},
    {.operands = "f32[2, 3, 7, 9], f32[5, 3, 1, 1]"},
    {.operands = "f32[2, 2, 6, 5], f32[3, 2, 3, 3]", .attrs = "padding = [1, 1, 1, 1]"},
    {.operands = "f32[1, 2, 7, 8], f32[3, 2, 3, 2]", .attrs = "padding = [0, 2, 1, 0]"},
    {.operands = "f32[1, 2, 8, 7], f32[3, 2, 3, 3]", .attrs = "stride = [2, 2], padding = [1, 1]"},
    {.operands = "f32[1, 1, 10, 10], f32[2, 1, 3, 3]", .attrs = "dilation = [2, 2]"},
    {.operands = "f32[1, 2, 11, 10], f32[2, 2, 3, 3]",
     .attrs = "stride = [2, 1], dilation = [2, 2], padding = [1, 0, 2, 1]"},
    {.operands = "f32[2, 4, 6, 6], f32[6, 2, 3, 3]", .attrs = "groups = 2, padding = [1, 1]"},
    {.operands = "f32[1, 3, 6, 6], f32[3, 1, 3, 3]", .attrs = "groups = 3, stride = [2, 2]"},
    {.operands = "f32[2, 2, 5, 6], f32[3, 2, 2, 4]", .attrs = "padding = [1, 1, 2, 2]"},
    {.operands = "f32[0, 2, 5, 5], f32[3, 2, 3, 3]"},
    {.operands = "f64[1, 2, 5, 5], f64[3, 2, 2, 2]"},
    {.operands = "f32[2, 8, 17, 19], f32[33, 8, 3, 3]", .low = -1, .high = 1}};

}  // namespace

constinit const OpDef kConv2dOp{
    .name = "conv2d",
    .doc =
        "x [N, C, H, W] convolved with w [O, C/groups, KH, KW]: [N, O, OH, OW] where OH = "
        "(H + top + bottom - dilation (KH - 1) - 1) // stride + 1. Each element is one chain of "
        "fused multiply-adds in the order of (c, kh, kw).",
    .attrs = kAttrs,
    .min_operands = 2,
    .max_operands = 2,
    .result_type = result_type,
    .reference = reference,
    .vjp = vjp,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
