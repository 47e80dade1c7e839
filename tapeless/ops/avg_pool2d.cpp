// avg_pool2d and adaptive_avg_pool2d. The sum over windows and its gradient are ops of their own,
// linear and each the other's gradient; averages are made of them.
#include "tapeless/ops/pool.h"

namespace tapeless {

namespace {

constexpr AttrDef kSumAttrs[] = {pool::kKernel, pool::kStride, window::kPadding, window::kDilation};
constexpr AttrDef kGradAttrs[] = {pool::kKernel, pool::kStride, window::kPadding, window::kDilation,
                                  pool::kInputSize};

// --- sum_pool2d

std::vector<Type> sum_type(const TypeQuery& q) {
  Shape y = pool::result_shape(q);
  infer::require_float(q, 0);
  return {q.operand(0).with_shape(y)};
}

void sum_reference(ReferenceCall& c) {
  auto x = reals(c.in(0));
  std::vector<double> y(static_cast<size_t>(c.out().numel()));
  pool::for_each(c.op, c.in(0).shape(), c.out().shape(),
                 [&](int64_t from, int64_t to, int64_t) { y[size_t(to)] += x[size_t(from)]; });
  for (size_t i = 0; i < y.size(); ++i) c.out().set(static_cast<int64_t>(i), y[i]);
}

loop::Expr sum_element(Elements& e, const Indices& result, const Indices& offset) {
  return pool::element(e, result, offset, 0);
}

void sum_vjp(Vjp& v) {
  v.give(0, v.b.make(kSumPool2dGradOp, {v.cotangent()},
                     pool::grad_attrs(v.op, v.op.operand_type(0).shape)));
}

constexpr Reduction kSumReduction{
    .kind = Reduction::Kind::kSum, .extents = pool::kernel_extents, .element = sum_element};
constexpr Lowering kSumLowering{.reduction = &kSumReduction};
constexpr OpCase kSumCases[] = {
    {.operands = "f32[2, 3, 8, 6]", .attrs = "kernel = [2, 2]"},
    {.operands = "f32[1, 2, 7, 8]", .attrs = "kernel = [3, 3], stride = [2, 2], padding = [1, 1]"},
    {.operands = "f32[1, 2, 7, 8]", .attrs = "kernel = [3, 2], stride = [1, 1]"},
    {.operands = "f32[1, 1, 9, 9]", .attrs = "kernel = [2, 3], stride = [2, 3], dilation = [3, 2]"},
    {.operands = "f64[1, 1, 5, 6]", .attrs = "kernel = [2, 2], padding = [0, 1, 1, 0]"}};

// --- sum_pool2d_grad

std::vector<Type> grad_type(const TypeQuery& q) {
  Shape x = pool::input_shape(q);
  infer::require_float(q, 0);
  return {q.operand(0).with_shape(x)};
}

void grad_reference(ReferenceCall& c) {
  auto dy = reals(c.in(0));
  std::vector<double> dx(static_cast<size_t>(c.out().numel()));
  pool::for_each(c.op, c.out().shape(), c.in(0).shape(),
                 [&](int64_t to, int64_t from, int64_t) { dx[size_t(to)] += dy[size_t(from)]; });
  for (size_t i = 0; i < dx.size(); ++i) c.out().set(static_cast<int64_t>(i), dx[i]);
}

loop::Expr grad_element(Elements& e, const Indices& pixel, const Indices& candidate) {
  window::Place p = pool::cover(e, pixel, candidate).place;
  return e.operand(0, {pixel[0], pixel[1], p.index[0], p.index[1]}, p.inside);
}

void grad_vjp(Vjp& v) {
  v.give(0, v.b.make(kSumPool2dOp, {v.cotangent()}, pool::forward_attrs(v.op)));
}

constexpr Reduction kGradReduction{
    .kind = Reduction::Kind::kSum, .extents = pool::cover_extents, .element = grad_element};
constexpr Lowering kGradLowering{.reduction = &kGradReduction};
constexpr OpCase kGradCases[] = {
    {.operands = "f32[2, 3, 4, 3]", .attrs = "kernel = [2, 2], input_size = [8, 7]"},
    {.operands = "f32[1, 2, 4, 4]",
     .attrs = "kernel = [3, 3], stride = [2, 2], padding = [1, 1], input_size = [7, 8]"},
    {.operands = "f32[1, 1, 3, 2]",
     .attrs = "kernel = [2, 3], stride = [2, 3], dilation = [3, 2], input_size = [9, 9]"},
    {.operands = "f64[1, 2, 5, 7]",
     .attrs = "kernel = [3, 2], stride = [1, 1], input_size = [7, 8]"}};

// --- avg_pool2d

constexpr AttrDef kAvgAttrs[] = {pool::kKernel,
                                 pool::kStride,
                                 window::kPadding,
                                 {.name = "count_include_pad",
                                  .kind = AttrKind::kBool,
                                  .fallback = true,
                                  .doc = "padding counts as zeros; else it does not count"}};

bool padded(const window::Window& w) { return w.axis[0].padded() || w.axis[1].padded(); }

// y = sum over the window / count, the count of real pixels being the sum over a window of ones.
std::vector<Value*> avg_expand(Builder& b, const Op& op, std::span<Value* const> operands) {
  Value* x = operands[0];
  AttrMap attrs = op.attrs;
  attrs.erase("count_include_pad");
  Value* sum = b.make(kSumPool2dOp, {x}, attrs);
  pool::Pool p = pool::of(op.attrs);
  if (op.flag("count_include_pad") || !padded(p.window))
    return {build::div(b, sum, build::numel(b, x->type.dtype, {p.kernel[0], p.kernel[1]}))};
  const Shape& shape = x->type.shape;
  Value* ones = build::broadcast_to(b, build::constant_like(b, x, 1), {1, 1, shape[2], shape[3]});
  return {build::div(b, sum, b.make(kSumPool2dOp, {ones}, attrs))};
}

constexpr OpCase kAvgCases[] = {
    {.operands = "f32[2, 3, 8, 6]", .attrs = "kernel = [2, 2]"},
    {.operands = "f32[1, 2, 7, 8]", .attrs = "kernel = [3, 3], stride = [2, 2], padding = [1, 1]"},
    {.operands = "f32[1, 2, 7, 8]",
     .attrs =
         "kernel = [3, 3], stride = [2, 2], padding = [1, 1, 0, 1], count_include_pad = false"},
    {.operands = "f64[1, 1, 5, 5]", .attrs = "kernel = [1, 2], stride = [2, 1]"}};

// --- adaptive_avg_pool2d

constexpr AttrDef kAdaptiveAttrs[] = {
    {.name = "output_size", .kind = AttrKind::kInts, .doc = "[OH, OW]"}};

std::vector<Type> adaptive_type(const TypeQuery& q) {
  infer::require_float(q, 0);
  infer::require_rank(q, 0, 4);
  window::check_pair(q, "output_size");
  const Ints& size = q.attr<Ints>("output_size");
  const Shape& x = q.operand(0).shape;
  for (size_t i = 0; i < 2; ++i)
    if (size[i] != 1 && !x[i + 2].is_constant())
      q.fail("the size {} must be known to be pooled to {}", x[i + 2].str(), size[i]);
  return {q.operand(0).with_shape({x[0], x[1], size[0], size[1]})};
}

// [out, in]: row o averages the inputs from floor(o in / out) to ceil((o + 1) in / out).
Value* averaging_matrix(Builder& b, DType dtype, int64_t out, int64_t in) {
  Tensor matrix(dtype, {out, in});
  for (int64_t o = 0; o < out; ++o) {
    int64_t first = o * in / out, end = ((o + 1) * in + out - 1) / out;
    for (int64_t i = first; i < end; ++i)
      matrix.set(o * in + i, 1.0 / static_cast<double>(end - first));
  }
  return b.make(kConstantOp, {}, {{"value", matrix}});
}

// A mean where the output is one pixel, equal windows where sizes divide, else one product with a
// matrix of averages on each side.
std::vector<Value*> adaptive_expand(Builder& b, const Op& op, std::span<Value* const> operands) {
  Value* x = operands[0];
  const Shape& shape = x->type.shape;
  const Ints& size = op.ints("output_size");
  if (size[0] == 1 && size[1] == 1)
    return {b.make(kMeanOp, {x}, {{"axes", Ints{2, 3}}, {"keepdims", true}})};
  int64_t in[2] = {0, 0};
  for (size_t i = 0; i < 2; ++i) in[i] = shape[i + 2].is_constant() ? shape[i + 2].constant() : 0;
  if (in[0] > 0 && in[1] > 0 && in[0] % size[0] == 0 && in[1] % size[1] == 0)
    return {b.make(kAvgPool2dOp, {x}, {{"kernel", Ints{in[0] / size[0], in[1] / size[1]}}})};
  DType dtype = x->type.dtype;
  auto average = [&](Value* v, size_t i) {
    if (size[i] == 1)
      return b.make(kMeanOp, {v}, {{"axes", Ints{int64_t(i) + 2}}, {"keepdims", true}});
    Value* matrix = averaging_matrix(b, dtype, size[i], in[i]);
    return i == 0 ? build::matmul(b, matrix, v) : build::matmul(b, v, matrix, false, true);
  };
  return {average(average(x, 1), 0)};
}

constexpr OpCase kAdaptiveCases[] = {
    {.operands = "f32[2, 3, 7, 5]", .attrs = "output_size = [1, 1]"},
    {.operands = "f32[2, 3, 8, 6]", .attrs = "output_size = [4, 2]"},
    {.operands = "f32[1, 2, 7, 5]", .attrs = "output_size = [3, 4]"},
    {.operands = "f32[1, 2, 7, 5]", .attrs = "output_size = [3, 1]"},
    {.operands = "f64[1, 1, 3, 3]", .attrs = "output_size = [5, 3]"}};

}  // namespace

constinit const OpDef kAdaptiveAvgPool2dOp{
    .name = "adaptive_avg_pool2d",
    .doc =
        "x [N, C, H, W] averaged to [N, C, OH, OW]: output row o averages the input rows from "
        "floor(o H / OH) to ceil((o + 1) H / OH), columns likewise.",
    .attrs = kAdaptiveAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = adaptive_type,
    .expand = adaptive_expand,
    .cases = kAdaptiveCases,
};

constinit const OpDef kAvgPool2dOp{
    .name = "avg_pool2d",
    .doc = "The average of each window of x [N, C, H, W].",
    .attrs = kAvgAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = sum_type,
    .expand = avg_expand,
    .cases = kAvgCases,
};

constinit const OpDef kSumPool2dOp{
    .name = "sum_pool2d",
    .doc = "The sum of each window of x [N, C, H, W]; padding is zero.",
    .attrs = kSumAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = sum_type,
    .reference = sum_reference,
    .vjp = sum_vjp,
    .lower = &kSumLowering,
    .cases = kSumCases,
};

constinit const OpDef kSumPool2dGradOp{
    .name = "sum_pool2d_grad",
    .doc = "dx of sum_pool2d from dy: each pixel sums over the windows that cover it.",
    .attrs = kGradAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = grad_type,
    .reference = grad_reference,
    .vjp = grad_vjp,
    .lower = &kGradLowering,
    .cases = kGradCases,
};

}  // namespace tapeless
