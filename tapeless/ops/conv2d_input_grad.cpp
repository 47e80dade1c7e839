// conv2d_input_grad: the gradient of conv2d with regard to its input (a transposed convolution).
#include "tapeless/ops/conv.h"

namespace tapeless {

namespace {

constexpr AttrDef kAttrs[] = {
    window::kStride,
    window::kPadding,
    window::kDilation,
    conv::kGroups,
    {.name = "input_size", .kind = AttrKind::kShape, .doc = "[H, W] of the input"}};

// dy [N, O, OH, OW], w [O, C / groups, KH, KW] -> dx [N, C, H, W]
std::vector<Type> result_type(const TypeQuery& q) {
  conv::check_operands(q);
  const Type &dy = q.operand(0), &w = q.operand(1);
  const Shape& size = q.attr<Shape>("input_size");
  if (size.size() != 2) q.fail("`input_size` must be [H, W], got {}", shape_str(size));
  Shape x = {dy.shape[0], w.shape[1] * q.attr<int64_t>("groups"), size[0], size[1]};
  conv::check_shapes(q, {x, w.shape, dy.shape});
  return {dy.with_shape(x)};
}

void reference(ReferenceCall& c) {
  auto dy = reals(c.in(0)), w = reals(c.in(1));
  std::vector<double> dx(static_cast<size_t>(c.out().numel()));
  conv::for_each_product(c.op, c.out().shape(), c.in(1).shape(), c.in(0).shape(),
                         [&](int64_t to, int64_t weight, int64_t from) {
                           dx[size_t(to)] += dy[size_t(from)] * w[size_t(weight)];
                         });
  for (size_t i = 0; i < dx.size(); ++i) c.out().set(static_cast<int64_t>(i), dx[i]);
}

// dx = G(dy, w) is linear in both: with its cotangent t, dy gets conv2d(t, w).
void vjp(Vjp& v) {
  AttrMap attrs = conv::shared_attrs(v.op);
  Value *dy = v.operand(0), *w = v.operand(1), *t = v.cotangent();
  if (v.needs(0)) v.give(0, conv::forward(v.b, t, w, attrs));
  if (v.needs(1)) v.give(1, conv::weight_grad(v.b, t, dy, attrs, w->type.shape));
}

// Rows are input channels, columns input pixels, the sum runs over output channels and the kernel.
Contraction::Spaces spaces(const Op& op) {
  const Shape &w = op.operand_type(1).shape, &x = op.result_type().shape;
  return {.batch = conv::batch_space(op, x[0]),
          .m = {w[1]},
          .n = {x[2], x[3]},
          .k = {conv::group_size(op, w[0]), w[2], w[3]}};
}

loop::Expr weight(Elements& e, const Indices& batch, const Indices& m, const Indices& k) {
  const Dim& channels = e.op.operand_type(1).shape[0];
  return e.operand(1, {conv::channel(e, batch, k[0], channels), m[0], k[1], k[2]});
}

loop::Expr output(Elements& e, const Indices& batch, const Indices& k, const Indices& n) {
  const Shape &dy = e.op.operand_type(0).shape, &w = e.op.operand_type(1).shape;
  window::Place p = window::output_place(e, window::of(e.op.attrs), &dy[2], &w[2], &n[0], &k[1]);
  return e.operand(0, {batch[0], conv::channel(e, batch, k[0], dy[1]), p.index[0], p.index[1]},
                   p.inside);
}

Indices result(Elements& e, const Indices& batch, const Indices& m, const Indices& n) {
  return {batch[0], conv::channel(e, batch, m[0], e.op.result_type().shape[1]), n[0], n[1]};
}

constexpr Contraction kContraction{.spaces = spaces, .a = weight, .b = output, .result = result};
constexpr Lowering kLowering{.contraction = &kContraction};

constexpr OpCase kCases[] = {
    {.operands = "f32[2, 4, 5, 7], f32[4, 3, 3, 3]", .attrs = "input_size = [7, 9]"},
    {.operands = "f32[2, 5, 7, 9], f32[5, 3, 1, 1]", .attrs = "input_size = [7, 9]"},
    {.operands = "f32[1, 3, 7, 8], f32[3, 2, 3, 2]",
     .attrs = "padding = [0, 2, 1, 0], input_size = [7, 8]"},
    {.operands = "f32[1, 3, 4, 4], f32[3, 2, 3, 3]",
     .attrs = "stride = [2, 2], padding = [1, 1], input_size = [8, 7]"},
    {.operands = "f32[1, 2, 6, 6], f32[2, 1, 3, 3]",
     .attrs = "dilation = [2, 2], input_size = [10, 10]"},
    {.operands = "f32[2, 6, 6, 6], f32[6, 2, 3, 3]",
     .attrs = "groups = 2, padding = [1, 1], input_size = [6, 6]"},
    {.operands = "f32[1, 3, 2, 2], f32[3, 1, 3, 3]",
     .attrs = "groups = 3, stride = [2, 2], input_size = [6, 6]"},
    {.operands = "f32[1, 2, 3, 3], f32[2, 3, 1, 1]",
     .attrs = "stride = [2, 2], input_size = [6, 5]"},
    {.operands = "f64[1, 3, 4, 4], f64[3, 2, 2, 2]", .attrs = "input_size = [5, 5]"}};

}  // namespace

constinit const OpDef kConv2dInputGradOp{
    .name = "conv2d_input_grad",
    .doc = "From dy and w, the gradient of conv2d(x, w) with regard to x. Attributes as conv2d's.",
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
