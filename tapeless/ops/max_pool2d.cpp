// max_pool2d, the place of each maximum, and the two linear maps that its gradients need: one from
// outputs to the pixels they came from, one back.
#include <cmath>
#include <limits>

#include "tapeless/ops/pool.h"

namespace tapeless {

namespace {

constexpr AttrDef kAttrs[] = {pool::kKernel, pool::kStride, window::kPadding, window::kDilation};
constexpr AttrDef kGradAttrs[] = {pool::kKernel, pool::kStride, window::kPadding, window::kDilation,
                                  pool::kInputSize};
constexpr double kLowest = -std::numeric_limits<double>::infinity();

// --- max_pool2d

std::vector<Type> max_type(const TypeQuery& q) {
  Shape y = pool::result_shape(q);
  infer::require_float(q, 0);
  return {q.operand(0).with_shape(y)};
}

// For every output: f(position, maximum, its offset). The first maximum wins, as does the first
// NaN.
void for_each_max(ReferenceCall& c, const std::function<void(int64_t, double, int64_t)>& f) {
  auto x = reals(c.in(0));
  auto count = static_cast<size_t>(c.out().numel());
  std::vector<double> best(count, kLowest);
  std::vector<int64_t> where(count, -1);
  pool::for_each(c.op, c.in(0).shape(), c.out().shape(),
                 [&](int64_t from, int64_t to, int64_t offset) {
                   auto at = static_cast<size_t>(to);
                   double value = x[static_cast<size_t>(from)];
                   bool first = where[at] < 0;
                   if (!first && (std::isnan(best[at]) || value <= best[at])) return;
                   best[at] = value;
                   where[at] = offset;
                 });
  for (size_t i = 0; i < count; ++i) f(static_cast<int64_t>(i), best[i], where[i]);
}

void max_reference(ReferenceCall& c) {
  for_each_max(c, [&](int64_t i, double value, int64_t) { c.out().set(i, value); });
}

loop::Expr max_element(Elements& e, const Indices& result, const Indices& offset) {
  return pool::element(e, result, offset, kLowest);
}

// dx = dy at the pixel that was the maximum
void max_vjp(Vjp& v) {
  Value* index = v.b.make(kMaxPool2dIndexOp, {v.operand(0)}, v.op.attrs);
  v.give(0, v.b.make(kMaxPool2dGradOp, {v.cotangent(), index},
                     pool::grad_attrs(v.op, v.op.operand_type(0).shape)));
}

constexpr Reduction kMaxReduction{
    .kind = Reduction::Kind::kMax, .extents = pool::kernel_extents, .element = max_element};
constexpr Lowering kMaxLowering{.reduction = &kMaxReduction};
constexpr OpCase kCases[] = {
    {.operands = "f32[2, 3, 8, 6]", .attrs = "kernel = [2, 2]"},
    {.operands = "f32[1, 2, 7, 9]", .attrs = "kernel = [2, 2]"},
    {.operands = "f32[1, 2, 7, 8]", .attrs = "kernel = [3, 3], stride = [2, 2], padding = [1, 1]"},
    {.operands = "f32[1, 2, 7, 8]", .attrs = "kernel = [3, 2], stride = [1, 1]"},
    {.operands = "f32[1, 1, 9, 9]", .attrs = "kernel = [2, 3], stride = [2, 3], dilation = [3, 2]"},
    {.operands = "f32[1, 2, 6, 7]", .attrs = "kernel = [3, 3], padding = [0, 1, 1, 0]"},
    {.operands = "f32[0, 2, 4, 4]", .attrs = "kernel = [2, 2]"},
    {.operands = "f64[1, 1, 5, 5]", .attrs = "kernel = [1, 1], stride = [2, 2]"}};

// --- max_pool2d_index

std::vector<Type> index_type(const TypeQuery& q) {
  return {max_type(q)[0].with_dtype(DType::kI32)};
}

void index_reference(ReferenceCall& c) {
  for_each_max(c, [&](int64_t i, double, int64_t offset) { c.out().set_int(i, offset); });
}

constexpr Reduction kIndexReduction{
    .kind = Reduction::Kind::kArgMax, .extents = pool::kernel_extents, .element = max_element};
constexpr Lowering kIndexLowering{.reduction = &kIndexReduction};

// --- max_pool2d_grad

std::vector<Type> grad_type(const TypeQuery& q) {
  Shape x = pool::input_shape(q);
  infer::require_float(q, 0);
  infer::require_integer(q, 1);
  if (!(q.operand(0).shape == q.operand(1).shape))
    q.fail("dy is {}, the index {}", q.operand(0).str(), q.operand(1).str());
  return {q.operand(0).with_shape(x)};
}

void grad_reference(ReferenceCall& c) {
  std::vector<double> dx(static_cast<size_t>(c.out().numel()));
  pool::for_each(c.op, c.out().shape(), c.in(0).shape(),
                 [&](int64_t to, int64_t from, int64_t offset) {
                   if (c.in(1).get_int(from) == offset)
                     dx[static_cast<size_t>(to)] += c.in(0).get(from);
                 });
  for (size_t i = 0; i < dx.size(); ++i) c.out().set(static_cast<int64_t>(i), dx[i]);
}

loop::Expr grad_element(Elements& e, const Indices& pixel, const Indices& candidate) {
  pool::Cover c = pool::cover(e, pixel, candidate);
  Indices at = {pixel[0], pixel[1], c.place.index[0], c.place.index[1]};
  loop::Expr dy = e.operand(0, at, c.place.inside);
  loop::Expr index = e.operand(1, at, c.place.inside);
  // Outside both read 0: dy is 0 there, whatever the comparison says.
  loop::Expr chosen = loop::eq(index, loop::cast(index->type.elem, c.offset));
  return loop::select(chosen, dy, loop::literal_like(dy, 0));
}

// dx is linear in dy: its cotangent t is read back at the same pixels.
void grad_vjp(Vjp& v) {
  if (v.needs(0))
    v.give(0, v.b.make(kMaxPool2dPickOp, {v.cotangent(), v.operand(1)}, pool::forward_attrs(v.op)));
}

constexpr Reduction kGradReduction{
    .kind = Reduction::Kind::kSum, .extents = pool::cover_extents, .element = grad_element};
constexpr Lowering kGradLowering{.reduction = &kGradReduction};
constexpr OpCase kGradCases[] = {
    {.operands = "f32[2, 3, 4, 3], i32[2, 3, 4, 3]",
     .attrs = "kernel = [2, 2], input_size = [8, 6]"},
    {.operands = "f32[1, 2, 3, 4], i32[1, 2, 3, 4]",
     .attrs = "kernel = [2, 2], input_size = [7, 9]"},
    {.operands = "f32[1, 2, 4, 4], i32[1, 2, 4, 4]",
     .attrs = "kernel = [3, 3], stride = [2, 2], padding = [1, 1], input_size = [7, 8]",
     .integers = 9},
    {.operands = "f32[1, 1, 3, 2], i32[1, 1, 3, 2]",
     .attrs = "kernel = [2, 3], stride = [2, 3], dilation = [3, 2], input_size = [9, 9]",
     .integers = 6},
    {.operands = "f64[1, 2, 5, 7], i64[1, 2, 5, 7]",
     .attrs = "kernel = [3, 2], stride = [1, 1], input_size = [7, 8]",
     .integers = 6}};

// --- max_pool2d_pick

std::vector<Type> pick_type(const TypeQuery& q) {
  Shape y = pool::result_shape(q);
  infer::require_float(q, 0);
  infer::require_integer(q, 1);
  if (!(q.operand(1).shape == y))
    q.fail("the index must be {}, got {}", shape_str(y), q.operand(1).str());
  return {q.operand(0).with_shape(y)};
}

void pick_reference(ReferenceCall& c) {
  pool::for_each(c.op, c.in(0).shape(), c.out().shape(),
                 [&](int64_t from, int64_t to, int64_t offset) {
                   if (c.in(1).get_int(to) == offset) c.out().set(to, c.in(0).get(from));
                 });
}

loop::Expr pick_element(Elements& e, int, const Indices& index) {
  pool::Pool p = pool::of(e.op.attrs);
  loop::Expr chosen = loop::cast(loop::Elem::kI64, e.operand(1, index));
  loop::Expr width = loop::i64(p.kernel[1].constant());
  loop::Expr offset[2] = {chosen / width, chosen % width};
  const Shape& x = e.op.operand_type(0).shape;
  window::Place at = window::input_place(e, p.window, &x[2], &index[2], offset);
  // An index that names no pixel of the window reads nothing.
  loop::Expr valid = (chosen >= loop::i64(0)) &
                     (chosen < loop::i64(p.kernel[0].constant() * p.kernel[1].constant()));
  return e.operand(0, {index[0], index[1], at.index[0], at.index[1]},
                   window::both(at.inside, valid));
}

void pick_vjp(Vjp& v) {
  if (v.needs(0))
    v.give(0, v.b.make(kMaxPool2dGradOp, {v.cotangent(), v.operand(1)},
                       pool::grad_attrs(v.op, v.op.operand_type(0).shape)));
}

constexpr Lowering kPickLowering{.element = pick_element};
constexpr OpCase kPickCases[] = {
    {.operands = "f32[2, 3, 8, 6], i32[2, 3, 4, 3]", .attrs = "kernel = [2, 2]"},
    {.operands = "f32[1, 2, 7, 8], i32[1, 2, 4, 4]",
     .attrs = "kernel = [3, 3], stride = [2, 2], padding = [1, 1]",
     .integers = 9}};

}  // namespace

constinit const OpDef kMaxPool2dOp{
    .name = "max_pool2d",
    .doc =
        "The maximum of each window of x [N, C, H, W]; padding never wins. Ties go to the first "
        "in row-major order, and so does the gradient; a NaN in the window gives NaN.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = max_type,
    .reference = max_reference,
    .vjp = max_vjp,
    .lower = &kMaxLowering,
    .cases = kCases,
};

constinit const OpDef kMaxPool2dIndexOp{
    .name = "max_pool2d_index",
    .doc = "Where max_pool2d finds its maximum: row-major offset in the window, i32.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = index_type,
    .reference = index_reference,
    .vjp = kZeroGradient,
    .lower = &kIndexLowering,
    .cases = kCases,
};

constinit const OpDef kMaxPool2dGradOp{
    .name = "max_pool2d_grad",
    .doc = "dx of max_pool2d from dy and max_pool2d_index: each dy goes to the pixel it names.",
    .attrs = kGradAttrs,
    .min_operands = 2,
    .max_operands = 2,
    .result_type = grad_type,
    .reference = grad_reference,
    .vjp = grad_vjp,
    .lower = &kGradLowering,
    .cases = kGradCases,
};

constinit const OpDef kMaxPool2dPickOp{
    .name = "max_pool2d_pick",
    .doc =
        "From each window of x [N, C, H, W] the pixel that an index (see max_pool2d_index) names.",
    .attrs = kAttrs,
    .min_operands = 2,
    .max_operands = 2,
    .result_type = pick_type,
    .reference = pick_reference,
    .vjp = pick_vjp,
    .lower = &kPickLowering,
    .cases = kPickCases,
};

}  // namespace tapeless
