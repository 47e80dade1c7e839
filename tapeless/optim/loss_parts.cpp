// Forward and backward of a loss inside a step. The weight (a count) is a constant of the
// differentiation: the seed 1 / weight is made from the forward part, where the backward first
// reads it.
#include "tapeless/optim/loss_parts.h"

#include "tapeless/ir/clone.h"
#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"

namespace tapeless::optim {

namespace {

bool is_state(const std::string& name) { return name.starts_with("%"); }

// Positions of the sum and, where the function returns one, of the weight.
struct Layout {
  int sum = -1, weight = -1;
};

Layout layout(const Function& loss) {
  Layout out;
  std::vector<Type> types = loss.result_types();
  for (int i = 0; i < static_cast<int>(types.size()); ++i) {
    const Type& type = types[static_cast<size_t>(i)];
    if (is_state(loss.result_names[static_cast<size_t>(i)])) continue;
    bool scalar = type.is_scalar() && is_float(type.dtype);
    if (out.sum < 0 && scalar) {
      out.sum = i;
      continue;
    }
    if (out.sum == i - 1 && scalar) out.weight = i;
    break;
  }
  if (out.sum != 0)
    compile_error(loss.loc, "@{} is no loss: its first result must be a scalar of floats",
                  loss.name);
  return out;
}

// A lone scalar is the mean over rows: those of the first input.
Value* count_rows(Builder& b, const Function& loss, const Type& like) {
  for (int i = 0; i < loss.param_count(); ++i) {
    const Type& type = loss.param(i)->type;
    if (loss.roles[static_cast<size_t>(i)] == Role::kInput && type.rank() > 0)
      return build::numel(b, like.dtype, {type.shape[0]});
  }
  return build::constant(b, like.dtype, 1);
}

class LossBody {
 public:
  LossBody(Builder& b, const Function& loss, const Function& vjp, Seed seed)
      : b_(b), loss_(loss), vjp_(vjp), seed_kind_(seed), layout_(layout(loss)) {}

  LossParts run() {
    int count = loss_.param_count();
    TL_CHECK(vjp_.param_count() == count + 1, "@{} has one cotangent", vjp_.name);
    for (int i = 0; i < count; ++i) {
      Value* p = b_.function().find_param(loss_.param(i)->name);
      TL_CHECK(p != nullptr, "no parameter %{}", loss_.param(i)->name);
      map_.set(vjp_.param(i), p);
    }
    const Value* cotangent = vjp_.param(count);
    for (const auto& op : vjp_.body) {
      for (const Value* v : op->operands)
        if (v == cotangent && map_.find(cotangent) == nullptr) map_.set(cotangent, make_seed());
      clone_op(b_, *op, map_);
    }
    if (parts_.loss == nullptr) make_loss();
    collect(cotangent);
    return std::move(parts_);
  }

 private:
  Value* result(int i) { return map_[vjp_.result(i)]; }

  // loss = sum / weight, or what the function returns.
  void make_loss() {
    b_.set_loc(loss_.loc.derived("mean of"));
    Value* first = result(layout_.sum);
    if (layout_.weight < 0) {
      parts_.loss = first;
      parts_.weight = count_rows(b_, loss_, first->type);
      parts_.sum = build::mul(b_, first, parts_.weight);
      return;
    }
    parts_.sum = first;
    parts_.weight = result(layout_.weight);
    divisor_ = nonzero(b_, build::cast(b_, parts_.weight, first->type.dtype));
    parts_.loss = build::div(b_, first, divisor_);
  }

  Value* make_seed() {
    make_loss();
    bool given_mean = layout_.weight < 0;
    Value* one = build::constant_like(b_, parts_.sum, 1);
    if (seed_kind_ == Seed::kSum) return given_mean ? parts_.weight : one;
    return given_mean ? one : build::div(b_, one, divisor_);
  }

  void collect(const Value* cotangent) {
    for (int i = 0; i < static_cast<int>(vjp_.results.size()); ++i) {
      const std::string& name = vjp_.result_names[static_cast<size_t>(i)];
      if (i == layout_.sum || i == layout_.weight) continue;
      // A gradient may be the cotangent itself, read by no op.
      if (vjp_.result(i) == cotangent && map_.find(cotangent) == nullptr)
        map_.set(cotangent, make_seed());
      Value* value = result(i);
      // Updates read dense gradients.
      if (name.starts_with("grad.") && value->type.row_sparse) value = b_.make(kDensifyOp, {value});
      if (name.starts_with("grad."))
        parts_.gradients[name.substr(5)] = value;
      else if (is_state(name))
        parts_.states.emplace_back(name.substr(1), value);
      else
        parts_.metrics.emplace_back(name.empty() ? "metric" + std::to_string(i) : name, value);
    }
  }

  Builder& b_;
  const Function& loss_;
  const Function& vjp_;
  Seed seed_kind_;
  Layout layout_;
  ValueMap map_;
  LossParts parts_;
  Value* divisor_ = nullptr;
};

}  // namespace

LossParts differentiate_loss(Builder& b, const Function& loss, const Function& vjp, Seed seed) {
  return LossBody(b, loss, vjp, seed).run();
}

Type loss_type(const Function& loss) {
  return loss.result_types()[static_cast<size_t>(layout(loss).sum)];
}

Value* nonzero(Builder& b, Value* x) {
  Value* zero = build::constant_like(b, x, 0);
  return b.make(kWhereOp, {b.make(kEqOp, {x, zero}), build::constant_like(b, x, 1), x});
}

}  // namespace tapeless::optim
