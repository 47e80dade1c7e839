// cross_entropy: softmax and negative log-likelihood of class labels in one, from logits.
#include <algorithm>
#include <cmath>

#include "tapeless/ops/infer.h"
#include "tapeless/ops/label_rows.h"
#include "tapeless/ops/softmax.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

// Notation: p = softmax(x) of a row, t its label, e the label smoothing, C the number of classes,
// w the class weights (1 where absent). The targets q[c] = (1 - e) w[t] [c = t] + e/C w[c]; the
// loss of a row is -sum_c q[c] log p[c], its weight w[t].

std::vector<Type> result_type(const TypeQuery& q) {
  double smoothing = q.attr<double>("label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1))
    q.fail("label_smoothing must be in [0, 1], got {}", smoothing);
  return label_rows::result_type(q);
}

void reference(ReferenceCall& c) {
  double sum = 0, weight = 0, smoothing = c.op.real("label_smoothing");
  int64_t classes = c.in(0).shape().back();
  label_rows::for_each_row(c, [&](int64_t row, int64_t label, double w) {
    double high = -INFINITY, total = 0;
    auto x = [&](int64_t i) { return c.in(0).get(row * classes + i); };
    for (int64_t i = 0; i < classes; ++i) high = std::max(high, x(i));
    for (int64_t i = 0; i < classes; ++i) total += std::exp(x(i) - high);
    auto log_p = [&](int64_t i) { return x(i) - high - std::log(total); };
    sum -= (1 - smoothing) * w * log_p(label);
    for (int64_t i = 0; smoothing > 0 && i < classes; ++i) {
      double wi = c.in_count() > 2 ? c.in(2).get(i) : 1;
      sum -= smoothing / static_cast<double>(classes) * wi * log_p(i);
    }
    weight += w;
  });
  c.out(0).set(0, sum);
  c.out(1).set(0, weight);
}

// e / C
Value* share(Builder& b, const Op& op) {
  const Type& x = op.operand_type(0);
  Value* smoothing = build::constant(b, x.dtype, op.real("label_smoothing"));
  return build::div(b, smoothing, build::numel(b, x.dtype, {x.shape.back()}));
}

std::vector<Value*> expand(Builder& b, const Op& op, std::span<Value* const> operands) {
  label_rows::Rows rows(b, op, operands);
  double smoothing = op.real("label_smoothing");
  softmax::Parts p = softmax::parts(b, operands[0], operands[0]->type.rank() - 1);
  Value* log_sum = build::log(b, p.sum);
  Value* loss =
      build::sub(b, build::reshape(b, log_sum, operands[1]->type.shape), rows.pick(p.shifted));
  if (rows.row_weights != nullptr) loss = build::mul(b, loss, rows.row_weights);
  if (smoothing > 0) {
    Value* costs = build::sub(b, log_sum, p.shifted);
    if (rows.class_weights != nullptr) costs = build::mul(b, costs, rows.class_weights);
    Value* spread = build::mul(b, rows.over_classes(costs), share(b, op));
    loss = build::add(b, build::mul(b, loss, 1 - smoothing), spread);
  }
  return {rows.over_rows(loss), rows.weight()};
}

// q [N.., C]
Value* targets(Builder& b, const Op& op, const label_rows::Rows& rows) {
  double smoothing = op.real("label_smoothing");
  Value* one = build::constant(b, op.operand_type(0).dtype, 1);
  Value* w = rows.class_weights != nullptr ? rows.class_weights : one;
  Value* q = build::keep_where(b, rows.hot, smoothing > 0 ? build::mul(b, w, 1 - smoothing) : w);
  return smoothing > 0 ? build::add(b, q, build::mul(b, w, share(b, op))) : q;
}

// dw[c] = sum over rows of [c = t] (W - (1 - e) L log p[c]) - e/C L log p[c]
Value* weights_cotangent(Vjp& v, const label_rows::Rows& rows) {
  Builder& b = v.b;
  double smoothing = v.op.real("label_smoothing");
  Value *sum = v.cotangent(0), *weight = v.cotangent(1), *at_label = weight, *costs = nullptr;
  if (sum != nullptr) {
    costs = build::mul(b, build::neg(b, sum), b.make(kLogSoftmaxOp, {v.operand(0)}));
    at_label = build::mul(b, costs, 1 - smoothing);
    if (weight != nullptr) at_label = build::add(b, at_label, weight);
  }
  Value* each = build::keep_where(b, rows.hot, at_label);
  if (costs != nullptr && smoothing > 0)
    each = build::add(b, each, build::mul(b, costs, share(b, v.op)));
  return build::sum_to(b, rows.keep_valid(each), v.op.operand_type(2).shape);
}

// With L the cotangent of the sum and W that of the weight, in rows that count (0 in others):
//   dx = L (p sum_c q[c] - q), where sum_c q[c] = 1 without weights
void vjp(Vjp& v) {
  Builder& b = v.b;
  std::vector<Value*> operands;
  for (int i = 0; i < v.operand_count(); ++i) operands.push_back(v.operand(i));
  label_rows::Rows rows(b, v.op, operands);
  if (v.needs(0) && v.cotangent(0) != nullptr) {
    Value* q = targets(b, v.op, rows);
    Value* p = b.make(kSoftmaxOp, {v.operand(0)});
    if (rows.class_weights != nullptr) p = build::mul(b, p, rows.over_classes(q, true));
    v.give(0, rows.keep_valid(build::mul(b, v.cotangent(0), build::sub(b, p, q))));
  }
  if (v.operand_count() > 2 && v.needs(2)) v.give(2, weights_cotangent(v, rows));
}

constexpr AttrDef kAttrs[] = {label_rows::kIgnoreIndex,
                              {.name = "label_smoothing",
                               .kind = AttrKind::kReal,
                               .fallback = 0.0,
                               .doc = "the part of each target spread evenly over all classes"}};
constexpr OpCase kCases[] = {
    {.operands = "f32[3, 4], i64[3]"},
    {.operands = "f32[17, 10], i32[17]", .attrs = "ignore_index = 2"},
    {.operands = "f32[17, 7], i64[17]", .attrs = "label_smoothing = 0.1, ignore_index = 0"},
    {.operands = "f32[7, 4], i64[7], f32[4]", .attrs = "ignore_index = 1", .low = 0.5},
    {.operands = "f32[7, 4], i64[7], f32[4]", .attrs = "label_smoothing = 0.2", .low = 0.5},
    {.operands = "f32[2, 3, 5], i64[2, 3]"},
    {.operands = "f32[0, 4], i64[0]"},
    {.operands = "f64[4097, 4], i64[4097]"}};

}  // namespace

constinit const OpDef kCrossEntropyOp{
    .name = "cross_entropy",
    .doc =
        "(sum, weight) of the cross-entropy of softmax(x) with the labels, over the rows whose "
        "label is not `ignore_index`. Operands: logits [N.., C], labels i32 or i64 [N..], "
        "optionally class weights [C]. The weight of a row is that of its class, 1 where absent; "
        "label smoothing as in PyTorch. The mean is sum / weight. Ignored rows have gradient 0.",
    .attrs = kAttrs,
    .min_operands = 2,
    .max_operands = 3,
    .result_type = result_type,
    .checks = label_rows::checks,
    .reference = reference,
    .vjp = vjp,
    .expand = expand,
    .cases = kCases,
};

}  // namespace tapeless
