// batch_norm: normalisation over everything but the channel. Its train form uses the batch's own
// statistics (the op batch_norm_train) and moves the running ones; its infer form is an affine map.
#include <fmt/core.h>

#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/checks.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/mode_form.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

constexpr AttrDef kEps{.name = "eps",
                       .kind = AttrKind::kReal,
                       .fallback = 1e-5,
                       .doc = "added to the variance before the root"};

// --- Channels: axis 1 of [N, C, ...]

Ints other_axes(const Type& x) {
  Ints axes = {0};
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

// Sizes of what one channel's statistics are taken over.
Shape channel_extents(const Type& x) {
  Shape extents = x.shape;
  extents.erase(extents.begin() + 1);
  return extents;
}

Value* channel_sum(Builder& b, Value* x) { return build::sum(b, x, other_axes(x->type)); }

Value* channel_mean(Builder& b, Value* x) {
  Value* sum = channel_sum(b, x);
  return build::div(b, sum, build::numel(b, sum->type.dtype, channel_extents(x->type)));
}

// [C] -> [C, 1, ...], which broadcasts against x.
Value* per_channel(Builder& b, Value* v, const Type& x) {
  Shape shape(static_cast<size_t>(x.rank() - 1), Dim(1));
  shape[0] = v->type.shape[0];
  return build::reshape(b, v, shape);
}

Value* inverse_deviation(Builder& b, Value* variance, double eps) {
  return b.make(kRsqrtOp, {build::add(b, variance, build::constant_like(b, variance, eps))});
}

// x [N, C, ...] and `vectors` further operands [C], all of one float dtype.
void check_operands(const TypeQuery& q, int vectors) {
  static constexpr const char* kNames[] = {"x", "scale", "bias", "running mean",
                                           "running variance"};
  infer::require_float(q, 0);
  const Type& x = q.operand(0);
  if (x.rank() < 2) q.fail("x must be [N, C, ...], got {}", x.str());
  for (int i = 1; i <= vectors; ++i)
    if (!(q.operand(i) == Type(x.dtype, {x.shape[1]})))
      q.fail("{} must be {} for x {}, got {}", kNames[i], Type(x.dtype, {x.shape[1]}).str(),
             x.str(), q.operand(i).str());
}

// --- batch_norm_train: (x, scale, bias) -> (y, mean, biased variance)

constexpr AttrDef kTrainAttrs[] = {kEps};
constexpr const char* kOneValue = "batch_norm in train mode needs at least two values a channel";

std::vector<Type> train_type(const TypeQuery& q) {
  check_operands(q, 2);
  const Type& x = q.operand(0);
  Dim count = numel(channel_extents(x));
  if (count.is_constant() && count.constant() < 2)
    q.fail("{}, got {}: x is {}", kOneValue, count.constant(), x.str());
  return {x, q.operand(1), q.operand(1)};
}

void train_checks(const Op& op, OpChecks& into) {
  const Type& x = op.operand_type(0);
  into.sizes.push_back({.size = numel(channel_extents(x)),
                        .least = 2,
                        .unless_empty = x.shape[1],
                        .message = fmt::format("{}: x is {}", kOneValue, x.str())});
}

struct Moments {
  std::vector<double> mean, variance;
};

// f(position, channel) for every element.
void for_each_channel(const Tensor& x, const std::function<void(int64_t, size_t)>& f) {
  int64_t inner = 1;
  for (int axis = 2; axis < x.rank(); ++axis) inner *= x.dim(axis);
  for (int64_t i = 0; i < x.numel(); ++i) f(i, static_cast<size_t>(i / inner % x.dim(1)));
}

Moments moments(const Tensor& x) {
  auto channels = static_cast<size_t>(x.dim(1));
  auto count = static_cast<double>(x.numel()) / static_cast<double>(channels);
  Moments m{std::vector<double>(channels), std::vector<double>(channels)};
  for_each_channel(x, [&](int64_t i, size_t c) { m.mean[c] += x.get(i) / count; });
  for_each_channel(x, [&](int64_t i, size_t c) {
    m.variance[c] += (x.get(i) - m.mean[c]) * (x.get(i) - m.mean[c]) / count;
  });
  return m;
}

void train_reference(ReferenceCall& c) {
  const Tensor& x = c.in(0);
  Moments m = moments(x);
  double eps = c.op.real("eps");
  for_each_channel(x, [&](int64_t i, size_t channel) {
    auto at = static_cast<int64_t>(channel);
    double normal = (x.get(i) - m.mean[channel]) / std::sqrt(m.variance[channel] + eps);
    c.out(0).set(i, normal * c.in(1).get(at) + c.in(2).get(at));
  });
  for (int64_t i = 0; i < x.dim(1); ++i) {
    c.out(1).set(i, m.mean[static_cast<size_t>(i)]);
    c.out(2).set(i, m.variance[static_cast<size_t>(i)]);
  }
}

// Two passes: the variance is that of centred values, so large means cost no digits.
std::vector<Value*> train_expand(Builder& b, const Op& op, std::span<Value* const> operands) {
  Value* x = operands[0];
  Value* mean = channel_mean(b, x);
  Value* centred = build::sub(b, x, per_channel(b, mean, x->type));
  Value* variance = channel_mean(b, build::mul(b, centred, centred));
  Value* slope = build::mul(b, operands[1], inverse_deviation(b, variance, op.real("eps")));
  Value* y = build::add(b, build::mul(b, centred, per_channel(b, slope, x->type)),
                        per_channel(b, operands[2], x->type));
  return {y, mean, variance};
}

// With c = x - mean, r = 1 / sqrt(var + eps), sums over a channel's n values:
//   dbias = sum dy,  dscale = r sum(dy c),  dx = scale r (dy - dbias / n - c r dscale / n)
// and mean and variance, where something flows into them, add dmean / n and 2 dvar c / n.
void train_vjp(Vjp& v) {
  Builder& b = v.b;
  Value *x = v.operand(0), *scale = v.operand(1), *dy = v.cotangent(0);
  const Type& type = x->type;
  Value* count = build::numel(b, type.dtype, channel_extents(type));
  Value* centred = build::sub(b, x, per_channel(b, v.result(1), type));
  Value* dx = nullptr;
  auto add_dx = [&](Value* d) { dx = dx == nullptr ? d : build::add(b, dx, d); };
  if (dy != nullptr) {
    Value* r = inverse_deviation(b, v.result(2), v.op.real("eps"));
    Value* dbias = channel_sum(b, dy);
    Value* dscale = build::mul(b, r, channel_sum(b, build::mul(b, dy, centred)));
    v.give(1, dscale);
    v.give(2, dbias);
    Value* shift = per_channel(b, build::div(b, dbias, count), type);
    Value* tilt = per_channel(b, build::div(b, build::mul(b, r, dscale), count), type);
    Value* d = build::sub(b, build::sub(b, dy, shift), build::mul(b, centred, tilt));
    add_dx(build::mul(b, d, per_channel(b, build::mul(b, scale, r), type)));
  }
  if (Value* dmean = v.cotangent(1))
    add_dx(build::broadcast_to(b, per_channel(b, build::div(b, dmean, count), type), type.shape));
  if (Value* dvariance = v.cotangent(2)) {
    Value* factor = build::div(b, build::mul(b, dvariance, 2), count);
    add_dx(build::mul(b, centred, per_channel(b, factor, type)));
  }
  v.give(0, dx);
}

constexpr OpCase kTrainCases[] = {
    {.operands = "f32[4, 3], f32[3], f32[3]"},
    {.operands = "f32[2, 3, 4, 5], f32[3], f32[3]"},
    {.operands = "f32[7, 1, 3], f32[1], f32[1]", .attrs = "eps = 0.1"},
    {.operands = "f32[3, 17, 9, 9], f32[17], f32[17]"},
    {.operands = "f64[5, 2, 3, 3], f64[2], f64[2]"}};

// --- batch_norm

constexpr AttrDef kAttrs[] = {
    kEps,
    {.name = "momentum",
     .kind = AttrKind::kReal,
     .fallback = 0.1,
     .doc = "weight of the batch in the running statistics (PyTorch's meaning)"},
    {.name = "cumulative",
     .kind = AttrKind::kBool,
     .fallback = false,
     .doc = "running statistics are the plain average over batches; needs the operand count"}};

std::vector<Type> norm_type(const TypeQuery& q) {
  check_operands(q, 4);
  if (q.count() == 6) {
    infer::require_numeric(q, 5);
    infer::require_rank(q, 5, 0);
  } else if (q.attr<bool>("cumulative")) {
    q.fail("`cumulative` needs the number of batches seen as a sixth operand");
  }
  return {q.operand(0)};
}

// (1 - momentum) running + momentum batch
Value* blend(Builder& b, Value* running, Value* batch, Value* momentum) {
  return build::add(b, build::mul(b, running, build::one_minus(b, momentum)),
                    build::mul(b, batch, momentum));
}

void train_form(ModeForm& form) {
  Builder& b = form.b;
  Value* x = form.operand(0);
  Op* made = b.make_op(kBatchNormTrainOp, {x, form.operand(1), form.operand(2)},
                       {{"eps", form.op.real("eps")}});
  form.result(0, made->result(0));
  Value* momentum = build::constant_like(b, x, form.op.real("momentum"));
  if (form.op.operands.size() == 6) {
    Value* count = form.operand(5);
    Value* seen = build::add(b, count, build::constant_like(b, count, 1));
    form.set_state(5, seen);
    if (form.op.flag("cumulative"))
      momentum = b.make(kReciprocalOp, {build::cast(b, seen, x->type.dtype)});
  }
  // Stored unbiased: var n / (n - 1).
  Value* n = build::numel(b, x->type.dtype, channel_extents(x->type));
  Value* one = build::constant_like(b, n, 1);
  Value* unbiased = build::mul(b, made->result(2), build::div(b, n, build::sub(b, n, one)));
  form.set_state(3, blend(b, form.operand(3), made->result(1), momentum));
  form.set_state(4, blend(b, form.operand(4), unbiased, momentum));
}

void infer_form(ModeForm& form) {
  Builder& b = form.b;
  Value* x = form.operand(0);
  Value* slope =
      build::mul(b, form.operand(1), inverse_deviation(b, form.operand(4), form.op.real("eps")));
  Value* centred = build::sub(b, x, per_channel(b, form.operand(3), x->type));
  form.result(0, build::add(b, build::mul(b, centred, per_channel(b, slope, x->type)),
                            per_channel(b, form.operand(2), x->type)));
}

constexpr OpCase kCases[] = {
    {.operands = "f32[4, 3], f32[3], f32[3], f32[3], f32[3]", .low = 0.5},
    {.operands = "f32[2, 3, 4, 5], f32[3], f32[3], f32[3], f32[3]", .low = 0.5},
    {.operands = "f32[2, 3, 5], f32[3], f32[3], f32[3], f32[3], i64[]",
     .attrs = "cumulative = true",
     .low = 0.5}};

}  // namespace

constinit const OpDef kBatchNormOp{
    .name = "batch_norm",
    .doc =
        "x [N, C, ...] normalised for each channel, times scale, plus bias (both [C]). Further "
        "operands: running mean, running variance and, if wanted, the number of batches seen; "
        "all three are state. In train mode the batch's mean and biased variance normalise, and "
        "the running ones move towards the mean and the unbiased variance. In infer mode the "
        "running ones normalise.",
    .attrs = kAttrs,
    .min_operands = 5,
    .max_operands = 6,
    .legal_until = Stage::kSource,
    .train = train_form,
    .infer = infer_form,
    .result_type = norm_type,
    .vjp = kNoGradient,
    .cases = kCases,
};

constinit const OpDef kBatchNormTrainOp{
    .name = "batch_norm_train",
    .doc =
        "x [N, C, ...] normalised by its own mean and biased variance for each channel, times "
        "scale, plus bias; the mean and the variance are results too. At least two values a "
        "channel.",
    .attrs = kTrainAttrs,
    .min_operands = 3,
    .max_operands = 3,
    .result_type = train_type,
    .checks = train_checks,
    .reference = train_reference,
    .vjp = train_vjp,
    .expand = train_expand,
    .cases = kTrainCases,
};

}  // namespace tapeless
