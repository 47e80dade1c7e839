// Rows with class labels: types, expansion by comparison, and the walk of the references.
#include "tapeless/ops/label_rows.h"

#include "tapeless/ops/infer.h"

namespace tapeless::label_rows {

std::vector<Type> result_type(const TypeQuery& q) {
  infer::require_float(q, 0);
  DType labels = q.operand(1).dtype;
  if (labels != DType::kI32 && labels != DType::kI64)
    q.fail("labels must be i32 or i64, got {}", q.operand(1).str());
  const Type& x = q.operand(0);
  if (x.rank() < 1) q.fail("expected class values in the last axis, got {}", x.str());
  Shape rows(x.shape.begin(), x.shape.end() - 1);
  if (!(q.operand(1).shape == rows))
    q.fail("labels must be {} for {}, got {}", shape_str(rows), x.str(), q.operand(1).str());
  if (q.count() > 2 && !(q.operand(2) == Type(x.dtype, {x.shape.back()})))
    q.fail("class weights must be {}, got {}", Type(x.dtype, {x.shape.back()}).str(),
           q.operand(2).str());
  return {Type(x.dtype, {}), Type(x.dtype, {})};
}

Rows::Rows(Builder& b, const Op& op, std::span<Value* const> operands)
    : class_weights(operands.size() > 2 ? operands[2] : nullptr),
      b_(b),
      dtype_(operands[0]->type.dtype),
      label_shape_(operands[1]->type.shape) {
  Value* labels = operands[1];
  DType integer = labels->type.dtype;
  Shape classes{operands[0]->type.shape.back()};
  Value* numbers = b.make(kIotaOp, {}, {{"shape", classes}, {"dtype", integer}});
  Shape column = label_shape_;
  column.emplace_back(1);
  hot = build::eq(b, build::reshape(b, labels, column), numbers);
  Value* ignored = b.make(kConstantOp, {},
                          {{"value", Tensor::scalar(integer, double(op.integer("ignore_index")))}});
  valid = b.make(kNeOp, {labels, ignored});
  if (class_weights != nullptr) row_weights = pick(class_weights);
}

Value* Rows::pick(Value* x) const { return over_classes(build::keep_where(b_, hot, x)); }

Value* Rows::over_classes(Value* x, bool keepdims) const {
  return build::sum(b_, x, {x->type.rank() - 1}, keepdims);
}

Value* Rows::keep(Value* x) const { return build::keep_where(b_, valid, x); }

Value* Rows::over_rows(Value* x) const {
  Ints axes;
  for (size_t i = 0; i < label_shape_.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return build::sum(b_, keep(x), axes);
}

Value* Rows::keep_valid(Value* x) const {
  Shape column = label_shape_;
  column.emplace_back(1);
  return build::keep_where(b_, build::reshape(b_, valid, column), x);
}

Value* Rows::weight() const {
  return over_rows(row_weights != nullptr ? row_weights : build::constant(b_, dtype_, 1));
}

void checks(const Op& op, OpChecks& into) {
  into.indices.push_back({.operand = 1,
                          .limit = op.operand_type(0).shape.back(),
                          .except = op.integer("ignore_index")});
}

void for_each_row(const ReferenceCall& c, const std::function<void(int64_t, int64_t, double)>& f) {
  int64_t ignore = c.op.integer("ignore_index");
  for (int64_t row = 0; row < c.in(1).numel(); ++row) {
    int64_t label = c.in(1).get_int(row);
    if (label == ignore) continue;
    f(row, label, c.in_count() > 2 ? c.in(2).get(label) : 1);
  }
}

}  // namespace tapeless::label_rows
