// conv2d_weight_grad: the gradient of conv2d with regard to its weight.
#include "tapeless/ops/conv.h"

namespace tapeless {

namespace {

constexpr AttrDef kAttrs[] = {
    window::kStride,
    window::kPadding,
    window::kDilation,
    conv::kGroups,
    {.name = "kernel", .kind = AttrKind::kShape, .doc = "[KH, KW] of the weight"}};

// x [N, C, H, W], dy [N, O, OH, OW] -> dw [O, C / groups, KH, KW]
std::vector<Type> result_type(const TypeQuery& q) {
  conv::check_operands(q);
  const Type &x = q.operand(0), &dy = q.operand(1);
  const Shape& kernel = q.attr<Shape>("kernel");
  if (kernel.size() != 2) q.fail("`kernel` must be [KH, KW], got {}", shape_str(kernel));
  Shape w = {dy.shape[1], conv::per_group(q, x.shape[1]), kernel[0], kernel[1]};
  conv::check_shapes(q, {x.shape, w, dy.shape});
  return {x.with_shape(w)};
}

void reference(ReferenceCall& c) {
  auto x = reals(c.in(0)), dy = reals(c.in(1));
  std::vector<double> dw(static_cast<size_t>(c.out().numel()));
  conv::for_each_product(c.op, c.in(0).shape(), c.out().shape(), c.in(1).shape(),
                         [&](int64_t from, int64_t to, int64_t out) {
                           dw[size_t(to)] += x[size_t(from)] * dy[size_t(out)];
                         });
  for (size_t i = 0; i < dw.size(); ++i) c.out().set(static_cast<int64_t>(i), dw[i]);
}

// dw = G(x, dy) is linear in both: with its cotangent t (a weight), dy gets conv2d(x, t).
void vjp(Vjp& v) {
  AttrMap attrs = conv::shared_attrs(v.op);
  Value *x = v.operand(0), *dy = v.operand(1), *t = v.cotangent();
  if (v.needs(0)) v.give(0, conv::input_grad(v.b, dy, t, attrs, x->type.shape));
  if (v.needs(1)) v.give(1, conv::forward(v.b, x, t, attrs));
}

// Rows are output channels, columns the weights of one, the sum runs over images and pixels.
Contraction::Spaces spaces(const Op& op) {
  const Shape &dy = op.operand_type(1).shape, &w = op.result_type().shape;
  Contraction::Spaces s{
      .m = {conv::group_size(op, w[0])}, .n = {w[1], w[2], w[3]}, .k = {dy[0], dy[2], dy[3]}};
  if (conv::grouped(op)) s.batch = {op.integer("groups")};
  return s;
}

loop::Expr output(Elements& e, const Indices& batch, const Indices& m, const Indices& k) {
  const Dim& channels = e.op.operand_type(1).shape[1];
  return e.operand(1, {k[0], conv::channel(e, batch, m[0], channels), k[1], k[2]});
}

loop::Expr input(Elements& e, const Indices& batch, const Indices& k, const Indices& n) {
  const Shape& x = e.op.operand_type(0).shape;
  window::Place p = window::input_place(e, window::of(e.op.attrs), &x[2], &k[1], &n[1]);
  return e.operand(0, {k[0], conv::channel(e, batch, n[0], x[1]), p.index[0], p.index[1]},
                   p.inside);
}

Indices result(Elements& e, const Indices& batch, const Indices& m, const Indices& n) {
  return {conv::channel(e, batch, m[0], e.op.result_type().shape[0]), n[0], n[1], n[2]};
}

constexpr Contraction kContraction{.spaces = spaces, .a = output, .b = input, .result = result};
constexpr Lowering kLowering{.contraction = &kContraction};

constexpr OpCase kCases[] = {
    {.operands = "f32[2, 3, 7, 9], f32[2, 4, 5, 7]", .attrs = "kernel = [3, 3]"},
    {.operands = "f32[2, 3, 7, 9], f32[2, 5, 7, 9]", .attrs = "kernel = [1, 1]"},
    {.operands = "f32[1, 2, 7, 8], f32[1, 3, 7, 8]",
     .attrs = "padding = [0, 2, 1, 0], kernel = [3, 2]"},
    {.operands = "f32[1, 2, 8, 7], f32[1, 3, 4, 4]",
     .attrs = "stride = [2, 2], padding = [1, 1], kernel = [3, 3]"},
    {.operands = "f32[1, 1, 10, 10], f32[1, 2, 6, 6]",
     .attrs = "dilation = [2, 2], kernel = [3, 3]"},
    {.operands = "f32[2, 4, 6, 6], f32[2, 6, 6, 6]",
     .attrs = "groups = 2, padding = [1, 1], kernel = [3, 3]"},
    {.operands = "f32[1, 3, 6, 6], f32[1, 3, 2, 2]",
     .attrs = "groups = 3, stride = [2, 2], kernel = [3, 3]"},
    {.operands = "f64[1, 2, 5, 5], f64[1, 3, 4, 4]", .attrs = "kernel = [2, 2]"}};

}  // namespace

constinit const OpDef kConv2dWeightGradOp{
    .name = "conv2d_weight_grad",
    .doc = "From x and dy, the gradient of conv2d(x, w) with regard to w. Attributes as conv2d's.",
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
