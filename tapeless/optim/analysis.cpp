// How far an update reaches, and what it does where the gradient is zero: both by one walk over an
// instantiated update function.
#include "tapeless/optim/analysis.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"

namespace tapeless::optim {

namespace {

// --- reach

// What a value may hold: the same for all elements, or classes as of updates.
enum class Reach : uint8_t { kUniform, kElement, kRow, kTensor };

class Reaches {
 public:
  explicit Reaches(const Function& update) : weight_(update.param(0)->type.shape) {
    for (int i = 0; i < update.param_count(); ++i) {
      const Shape& shape = update.param(i)->type.shape;
      bool hyper = update.roles[static_cast<size_t>(i)] == Role::kHyper;
      reach_[update.param(i)] = hyper              ? Reach::kUniform
                                : shape == weight_ ? Reach::kElement
                                : has_rows(shape)  ? Reach::kRow
                                                   : Reach::kTensor;
    }
    for (const auto& op : update.body)
      for (const auto& r : op->results) reach_[r.get()] = of(*op, r->type.shape);
  }

  Reach operator[](const Value* v) const { return reach_.at(v); }

 private:
  bool has_rows(const Shape& shape) const {
    return !shape.empty() && !weight_.empty() && shape[0] == weight_[0];
  }

  Reach of(const Op& op, const Shape& result) const {
    Reach reach = Reach::kUniform;
    for (const Value* v : op.operands) reach = std::max(reach, reach_.at(v));
    if (reach == Reach::kUniform || reach == Reach::kTensor) return reach;
    const Lowering* lower = op.def().lower;
    if (lower != nullptr && lower->pointwise) return pointwise(op, result, reach);
    bool reduction =
        op.def().find_attr("axes") != nullptr && op.def().find_attr("keepdims") != nullptr;
    if (reduction && keeps_rows(op)) return Reach::kRow;
    bool reshaped = op.is(kReshapeOp) && has_rows(op.operand_type(0).shape) && has_rows(result);
    return reshaped ? Reach::kRow : Reach::kTensor;
  }

  // Operands that vary must align with the rows of the result.
  Reach pointwise(const Op& op, const Shape& result, Reach reach) const {
    for (const Value* v : op.operands) {
      if (reach_.at(v) == Reach::kUniform) continue;
      bool aligned = v->type.rank() == static_cast<int>(result.size()) && has_rows(v->type.shape) &&
                     has_rows(result);
      if (!aligned && !(v->type.shape == result)) return Reach::kTensor;
      if (!(v->type.shape == result)) reach = std::max(reach, Reach::kRow);
    }
    return reach;
  }

  static bool keeps_rows(const Op& op) {
    Ints axes = infer::reduced_axes(op.attrs, op.operand_type(0).rank());
    return std::find(axes.begin(), axes.end(), 0) == axes.end() && op.operand_type(0).rank() > 0;
  }

  const Shape& weight_;
  std::unordered_map<const Value*, Reach> reach_;
};

// --- zeros

// What is known of a value when the gradient is zero: a range of all its elements, and the
// parameter that it equals, if any. NaN and infinities of weights and states are left out.
struct Known {
  Range range;
  const Value* equals = nullptr;
  bool zero() const { return range.low == 0 && range.high == 0; }
  bool is(double x) const { return range.low == x && range.high == x; }
  bool positive() const { return range.low > 0 || (range.low == 0 && range.low_open); }
  bool negative() const { return range.high < 0 || (range.high == 0 && range.high_open); }
  bool not_negative() const { return range.low >= 0; }
};

Known exactly(double x) { return {{x, x, false, false}, nullptr}; }
Known at_least_zero(bool open) {
  Known k;
  k.range.low = 0;
  k.range.low_open = open;
  return k;
}

using Knowns = std::vector<Known>;

Known add_known(const Knowns& x) {
  if (x[0].zero()) return x[1];
  if (x[1].zero()) return x[0];
  Known out;
  out.range.low = x[0].range.low + x[1].range.low;
  out.range.high = x[0].range.high + x[1].range.high;
  out.range.low_open = x[0].range.low_open || x[1].range.low_open;
  out.range.high_open = x[0].range.high_open || x[1].range.high_open;
  return out;
}

Known neg_known(const Knowns& x) {
  const Range& r = x[0].range;
  return {{-r.high, -r.low, r.high_open, r.low_open}, nullptr};
}

Known sub_known(const Knowns& x) {
  if (x[1].zero()) return x[0];
  return add_known({x[0], neg_known({x[1]})});
}

Known mul_known(const Knowns& x) {
  if (x[0].zero() || x[1].zero()) return exactly(0);
  if (x[0].is(1)) return x[1];
  if (x[1].is(1)) return x[0];
  if (x[0].not_negative() && x[1].not_negative())
    return at_least_zero(x[0].positive() && x[1].positive());
  return {};
}

Known div_known(const Knowns& x) {
  bool divisible = x[1].positive() || x[1].negative();
  if (x[0].zero() && divisible) return exactly(0);
  if (x[1].is(1)) return x[0];
  if (x[0].not_negative() && x[1].positive()) return at_least_zero(x[0].positive());
  return {};
}

Known sqrt_known(const Knowns& x) {
  if (x[0].zero()) return exactly(0);
  return at_least_zero(x[0].positive());
}

Known square_known(const Knowns& x) {
  if (x[0].zero()) return exactly(0);
  return at_least_zero(x[0].positive() || x[0].negative());
}

Known maximum_known(const Knowns& x) {
  Known out;
  for (const Known& k : x) {
    bool tighter =
        k.range.low > out.range.low || (k.range.low == out.range.low && k.range.low_open);
    if (tighter) out.range.low = k.range.low, out.range.low_open = k.range.low_open;
  }
  out.range.high = std::max(x[0].range.high, x[1].range.high);
  return out;
}

Known abs_known(const Knowns& x) { return square_known(x); }
Known sign_known(const Knowns& x) { return x[0].zero() ? exactly(0) : Known{}; }
Known same_known(const Knowns& x) { return x[0]; }
// Sums and means of zeros are zeros, of what is not negative not negative.
Known reduced_known(const Knowns& x) {
  if (x[0].zero()) return exactly(0);
  return x[0].not_negative() ? at_least_zero(false) : Known{};
}
// Both branches say the same.
Known where_known(const Knowns& x) {
  if (x[1].equals != nullptr && x[1].equals == x[2].equals) return x[1];
  if (x[1].zero() && x[2].zero()) return exactly(0);
  return x[1].positive() && x[2].positive() ? at_least_zero(true) : Known{};
}

struct ZeroRule {
  const OpDef* op;
  Known (*rule)(const Knowns& operands);
};

constexpr ZeroRule kRules[] = {
    {&kAddOp, add_known},       {&kSubOp, sub_known},          {&kMulOp, mul_known},
    {&kDivOp, div_known},       {&kNegOp, neg_known},          {&kSqrtOp, sqrt_known},
    {&kSquareOp, square_known}, {&kMaximumOp, maximum_known},  {&kAbsOp, abs_known},
    {&kSignOp, sign_known},     {&kSumOp, reduced_known},      {&kMeanOp, reduced_known},
    {&kReshapeOp, same_known},  {&kBroadcastToOp, same_known}, {&kTransposeOp, same_known},
    {&kWhereOp, where_known},
};

Known result_known(const Op& op, const Knowns& operands) {
  if (op.is(kConstantOp)) {
    const Tensor& value = op.attr<Tensor>("value");
    return value.numel() == 1 ? exactly(value.get(0)) : Known{};
  }
  // x * x: a square, whatever x is.
  if (op.is(kMulOp) && op.operand(0) == op.operand(1)) return square_known(operands);
  if (op.is(kCastOp)) {
    Known out = operands[0];
    if (op.operand_type(0).dtype != op.result_type().dtype) out.equals = nullptr;
    return out;
  }
  for (const ZeroRule& rule : kRules)
    if (op.is(*rule.op)) return rule.rule(operands);
  return {};
}

}  // namespace

std::string_view update_class_name(UpdateClass c) {
  constexpr std::array<std::string_view, 3> kNames = {"elementwise", "row-separable", "per-tensor"};
  return kNames[static_cast<size_t>(c)];
}

UpdateClass classify(const Function& update) {
  Reaches reaches(update);
  Reach worst = Reach::kElement;
  for (const Value* r : update.results) worst = std::max(worst, reaches[r]);
  return static_cast<UpdateClass>(static_cast<int>(worst) - static_cast<int>(Reach::kElement));
}

bool keeps_under_zero_gradient(const Function& update, const std::map<std::string, Range>& ranges) {
  std::unordered_map<const Value*, Known> known;
  for (int i = 0; i < update.param_count(); ++i) {
    const Value* p = update.param(i);
    Known k;
    k.equals = p;
    if (i == 1) k = exactly(0);  // the gradient
    auto range = ranges.find(p->name);
    if (update.roles[static_cast<size_t>(i)] == Role::kHyper && range != ranges.end())
      k.range = range->second;
    known[p] = k;
  }
  for (const auto& op : update.body) {
    Knowns operands;
    for (const Value* v : op->operands) operands.push_back(known.at(v));
    Known out = result_known(*op, operands);
    for (const auto& r : op->results) known[r.get()] = op->results.size() == 1 ? out : Known{};
  }
  for (size_t i = 0; i < update.results.size(); ++i) {
    const Value* before = update.find_param(update.result_names[i].substr(1));
    if (known.at(update.results[i]).equals != before) return false;
  }
  return true;
}

}  // namespace tapeless::optim
