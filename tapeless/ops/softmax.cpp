// softmax, log_softmax and logsumexp: normalised exponentials, shifted by the maximum.
#include "tapeless/ops/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tapeless/ops/build.h"
#include "tapeless/ops/reduce.h"

namespace tapeless {

namespace softmax {

Parts parts(Builder& b, Value* x, int64_t axis) {
  Value* shifted = build::sub(b, x, build::max(b, x, {axis}, true));
  Value* exps = build::exp(b, shifted);
  return {shifted, exps, build::sum(b, exps, {axis}, true)};
}

}  // namespace softmax

namespace {

std::vector<Type> axis_type(const TypeQuery& q) {
  infer::normalize_axis(q, q.attr<int64_t>("axis"), q.operand(0).rank());
  return infer::same_float(q);
}

int64_t axis_of(const Op& op) {
  int64_t axis = op.integer("axis");
  return axis < 0 ? axis + op.operand_type(0).rank() : axis;
}

// For every line along the axis: f(values), which changes them in place.
void for_each_line(ReferenceCall& c, void (*f)(std::vector<double>& line)) {
  const Extents& shape = c.in(0).shape();
  int64_t n = c.in(0).numel(), length = shape[static_cast<size_t>(axis_of(c.op))];
  int64_t stride = dense_strides(shape)[static_cast<size_t>(axis_of(c.op))];
  std::vector<double> line(static_cast<size_t>(length));
  for (int64_t start = 0; start < n; ++start) {
    if (start / stride % length != 0) continue;
    for (int64_t i = 0; i < length; ++i)
      line[static_cast<size_t>(i)] = c.in(0).get(start + i * stride);
    f(line);
    for (int64_t i = 0; i < length; ++i)
      c.out().set(start + i * stride, line[static_cast<size_t>(i)]);
  }
}

void softmax_line(std::vector<double>& line) {
  double high = *std::max_element(line.begin(), line.end()), sum = 0;
  for (double& x : line) sum += x = std::exp(x - high);
  for (double& x : line) x /= sum;
}

void log_softmax_line(std::vector<double>& line) {
  double high = *std::max_element(line.begin(), line.end()), sum = 0;
  for (double x : line) sum += std::exp(x - high);
  for (double& x : line) x = x - high - std::log(sum);
}

std::vector<Value*> softmax_expansion(Builder& b, const Op& op, std::span<Value* const> operands) {
  softmax::Parts p = softmax::parts(b, operands[0], axis_of(op));
  return {build::div(b, p.exps, p.sum)};
}

std::vector<Value*> log_softmax_expansion(Builder& b, const Op& op,
                                          std::span<Value* const> operands) {
  softmax::Parts p = softmax::parts(b, operands[0], axis_of(op));
  return {build::sub(b, p.shifted, build::log(b, p.sum))};
}

// dx = y (dy - sum(dy y))
void softmax_vjp(Vjp& v) {
  Builder& b = v.b;
  Value* along = build::sum(b, build::mul(b, v.cotangent(), v.result()), {axis_of(v.op)}, true);
  v.give(0, build::mul(b, v.result(), build::sub(b, v.cotangent(), along)));
}

// dx = dy - e^y sum(dy)
void log_softmax_vjp(Vjp& v) {
  Builder& b = v.b;
  Value* total = build::sum(b, v.cotangent(), {axis_of(v.op)}, true);
  Value* shares = build::mul(b, build::exp(b, v.result()), total);
  v.give(0, build::sub(b, v.cotangent(), shares));
}

// --- logsumexp, over axes like other reductions

void logsumexp_reference(ReferenceCall& c) {
  auto count = static_cast<size_t>(c.out().numel());
  std::vector<double> high(count, -std::numeric_limits<double>::infinity()), sums(count);
  auto at = [](int64_t i) { return static_cast<size_t>(i); };
  reduce::for_each(c, [&](int64_t from, int64_t to) {
    double x = c.in(0).get(from);
    if (x > high[at(to)] || std::isnan(x)) high[at(to)] = x;
  });
  for (double& h : high)
    if (!std::isfinite(h)) h = 0;
  reduce::for_each(c, [&](int64_t from, int64_t to) {
    sums[at(to)] += std::exp(c.in(0).get(from) - high[at(to)]);
  });
  for (size_t i = 0; i < count; ++i)
    c.out().set(static_cast<int64_t>(i), high[i] + std::log(sums[i]));
}

Value* zero_unless_finite(Builder& b, Value* x) {
  return build::keep_where(b, b.make(kIsFiniteOp, {x}), x);
}

std::vector<Value*> logsumexp_expansion(Builder& b, const Op& op,
                                        std::span<Value* const> operands) {
  Value* x = operands[0];
  Ints axes = reduce::axes(op);
  Value* high = zero_unless_finite(b, build::max(b, x, axes, true));
  Value* sum = build::sum(b, build::exp(b, build::sub(b, x, high)), axes, true);
  Value* y = build::add(b, high, build::log(b, sum));
  return {build::reshape(b, y, op.result_type().shape)};
}

// dx = dy e^(x - y), and 0 where dy is
void logsumexp_vjp(Vjp& v) {
  Builder& b = v.b;
  Value* y = reduce::spread(v, zero_unless_finite(b, v.result()));
  Value* shares = build::exp(b, build::sub(b, v.operand(0), y));
  Value* dy = reduce::spread(v, v.cotangent());
  v.give(0, build::zero_where(b, build::eq(b, dy, 0.0), build::mul(b, dy, shares)));
}

constexpr AttrDef kAxisAttr[] = {{.name = "axis",
                                  .kind = AttrKind::kInt,
                                  .fallback = int64_t{-1},
                                  .doc = "the axis along which the exponentials add up"}};
constexpr OpCase kCases[] = {{.operands = "f32[3, 4]"},
                             {.operands = "f32[17, 10]"},
                             {.operands = "f32[2, 5, 3]", .attrs = "axis = 1"},
                             {.operands = "f32[0, 4]"},
                             {.operands = "f32[7, 1]"},
                             {.operands = "f32[2, 4097]", .attrs = "axis = 1"},
                             {.operands = "f64[5, 6]", .attrs = "axis = 0"}};

}  // namespace

constinit const OpDef kLogSoftmaxOp{
    .name = "log_softmax",
    .doc = "log(softmax(x)) along `axis`, floats, as (x - max) - log(sum(e^(x - max))).",
    .attrs = kAxisAttr,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = axis_type,
    .reference = [](ReferenceCall& c) { for_each_line(c, log_softmax_line); },
    .vjp = log_softmax_vjp,
    .expand = log_softmax_expansion,
    .cases = kCases,
};

constinit const OpDef kLogSumExpOp{
    .name = "logsumexp",
    .doc =
        "log(sum(e^x)) over `axes` (all axes where absent), floats, shifted by the maximum: no "
        "overflow. -inf where every x is.",
    .attrs = reduce::kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = infer::reduce_float,
    .reference = logsumexp_reference,
    .vjp = logsumexp_vjp,
    .expand = logsumexp_expansion,
    .cases = reduce::kCases,
};

constinit const OpDef kSoftmaxOp{
    .name = "softmax",
    .doc =
        "e^x / sum(e^x) along `axis`, floats, shifted by the maximum: no overflow. NaN where "
        "every x is -inf.",
    .attrs = kAxisAttr,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = axis_type,
    .reference = [](ReferenceCall& c) { for_each_line(c, softmax_line); },
    .vjp = softmax_vjp,
    .expand = softmax_expansion,
    .cases = kCases,
};

}  // namespace tapeless
