// nll_loss: negative log-likelihood of class labels.
#include "tapeless/ops/infer.h"
#include "tapeless/ops/label_rows.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

void reference(ReferenceCall& c) {
  double sum = 0, weight = 0;
  int64_t classes = c.in(0).shape().back();
  label_rows::for_each_row(c, [&](int64_t row, int64_t label, double w) {
    sum -= w * c.in(0).get(row * classes + label);
    weight += w;
  });
  c.out(0).set(0, sum);
  c.out(1).set(0, weight);
}

std::vector<Value*> expand(Builder& b, const Op& op, std::span<Value* const> operands) {
  label_rows::Rows rows(b, op, operands);
  Value* loss = build::neg(b, rows.pick(operands[0]));
  if (rows.row_weights != nullptr) loss = build::mul(b, loss, rows.row_weights);
  return {rows.over_rows(loss), rows.weight()};
}

// With L the cotangent of the sum and W that of the weight, in rows that count:
//   dx[i, c] = -L w[c] where c is the label;  dw[c] = sum over rows with label c of W - L x[i, c]
void vjp(Vjp& v) {
  Builder& b = v.b;
  label_rows::Rows rows(b, v.op, std::vector<Value*>{v.operand(0), v.operand(1)});
  Value *sum = v.cotangent(0), *weight = v.cotangent(1);
  bool weighted = v.operand_count() > 2;
  if (v.needs(0) && sum != nullptr) {
    Value* slope = build::neg(b, sum);
    if (weighted) slope = build::mul(b, slope, v.operand(2));
    v.give(0, rows.keep_valid(build::keep_where(b, rows.hot, slope)));
  }
  if (!weighted || !v.needs(2)) return;
  Value* slope = weight;
  if (sum != nullptr) {
    slope = build::neg(b, build::mul(b, sum, v.operand(0)));
    if (weight != nullptr) slope = build::add(b, slope, weight);
  }
  Value* each = rows.keep_valid(build::keep_where(b, rows.hot, slope));
  v.give(2, build::sum_to(b, each, v.op.operand_type(2).shape));
}

constexpr AttrDef kAttrs[] = {label_rows::kIgnoreIndex};
constexpr OpCase kCases[] = {
    {.operands = "f32[3, 4], i64[3]"},
    {.operands = "f32[17, 4], i32[17]", .attrs = "ignore_index = 2"},
    {.operands = "f32[7, 4], i64[7], f32[4]", .attrs = "ignore_index = 1", .low = 0.5},
    {.operands = "f32[2, 3, 5], i64[2, 3]"},
    {.operands = "f32[0, 4], i64[0]"},
    {.operands = "f64[4097, 4], i64[4097]"}};

}  // namespace

constinit const OpDef kNllLossOp{
    .name = "nll_loss",
    .doc =
        "(sum, weight) of -w[label] x[row, label] and of w[label] over the rows whose label is "
        "not `ignore_index`. Operands: log-probabilities [N.., C], labels i32 or i64 [N..], "
        "optionally class weights [C] (1 where absent). The mean is sum / weight.",
    .attrs = kAttrs,
    .min_operands = 2,
    .max_operands = 3,
    .result_type = label_rows::result_type,
    .checks = label_rows::checks,
    .reference = reference,
    .vjp = vjp,
    .expand = expand,
    .cases = kCases,
};

}  // namespace tapeless
