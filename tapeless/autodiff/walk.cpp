// The reverse walk. Each value has at most one cotangent, added up where a second one arrives; the
// order of the walk fixes the order of the additions. Only values that depend on `wrt` get one.
#include "tapeless/autodiff/walk.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

class Walk {
 public:
  Walk(Builder& b, std::span<Value* const> wrt, CallRule& calls)
      : b_(b), body_(b.function().body), calls_(calls), varied_(wrt.begin(), wrt.end()) {
    for (const auto& op : body_) {
      bool depends =
          op->def().vjp != kZeroGradient && std::any_of(op->operands.begin(), op->operands.end(),
                                                        [&](const Value* v) { return varied(v); });
      for (const auto& r : op->results)
        if (depends && is_float(r->type.dtype)) varied_.insert(r.get());
    }
  }

  void run() {
    for (size_t i = body_.size(); i-- > 0;) {
      const Op& op = *body_[i];
      std::vector<Value*> cotangents;
      for (const auto& r : op.results) cotangents.push_back(cotangent(r.get()));
      std::vector<bool> needed;
      for (const Value* v : op.operands) needed.push_back(varied(v));
      if (!any(cotangents) || !any(needed)) continue;
      b_.set_loc(op.loc.derived("gradient of"));
      std::vector<Value*> given = pull_back(op, cotangents, needed);
      for (size_t o = 0; o < given.size(); ++o)
        if (given[o] != nullptr && needed[o]) accumulate(op.operands[o], given[o], op);
    }
  }

  void seed(Value* result, Value* d) {
    if (d != nullptr && varied(result)) accumulate_checked(result, d);
  }

  // The finished cotangent, named after its value.
  Value* cotangent(const Value* v) {
    auto found = cotangents_.find(v);
    if (found == cotangents_.end()) return nullptr;
    Value* d = found->second;
    if (d->def != nullptr && d->name.empty() && !v->name.empty()) d->name = "d." + v->name;
    return d;
  }

 private:
  template <class T>
  static bool any(const std::vector<T>& flags) {
    return std::any_of(flags.begin(), flags.end(), [](const auto& f) { return bool(f); });
  }

  bool varied(const Value* v) const { return varied_.count(v) > 0; }

  std::vector<Value*> pull_back(const Op& op, std::span<Value* const> cotangents,
                                const std::vector<bool>& needed) {
    try {
      if (op.is(kCallOp)) return calls_.pull_back(b_, op, cotangents, needed);
      std::vector<Value*> results;
      for (const auto& r : op.results) results.push_back(r.get());
      Vjp v(b_, op, op.operands, results, cotangents, needed);
      op.def().vjp != nullptr ? op.def().vjp(v) : kNoGradient(v);
      return {v.given().begin(), v.given().end()};
    } catch (const CompileError& error) {
      calls_.missing(error);
    }
    // The result is thrown away: any cotangent leads the walk to the other missing rules.
    std::vector<Value*> given(op.operands.size(), nullptr);
    for (size_t i = 0; i < given.size(); ++i)
      if (needed[i]) given[i] = build::full_like(b_, op.operands[i], 0);
    return given;
  }

  // Undoes broadcasting: a rule gives the shape of the op's result.
  void accumulate(Value* v, Value* d, const Op& op) {
    TL_CHECK(d->type.dtype == v->type.dtype, "[{}] gives a cotangent {} of an operand {}",
             op.name(), d->type.str(), v->type.str());
    TL_CHECK(broadcast_shapes(v->type.shape, d->type.shape) == d->type.shape,
             "[{}] gives a cotangent {} of an operand {}", op.name(), d->type.str(), v->type.str());
    accumulate_checked(v, d->type.row_sparse ? d : build::sum_to(b_, d, v->type.shape));
  }

  void accumulate_checked(Value* v, Value* d) {
    TL_CHECK(d->type.shape == v->type.shape);
    Value*& sum = cotangents_[v];
    // Dense first: dense + rows is dense, rows + rows are rows.
    bool rows_first = sum != nullptr && sum->type.row_sparse && !d->type.row_sparse;
    sum = sum == nullptr ? d : rows_first ? build::add(b_, d, sum) : build::add(b_, sum, d);
  }

  Builder& b_;
  std::vector<std::unique_ptr<Op>>& body_;
  CallRule& calls_;
  std::unordered_set<const Value*> varied_;
  std::unordered_map<const Value*, Value*> cotangents_;
};

}  // namespace

std::vector<Value*> walk_back(Builder& b, std::span<Value* const> wrt,
                              std::span<Value* const> results, std::span<Value* const> seeds,
                              CallRule& calls) {
  Walk walk(b, wrt, calls);
  for (size_t i = 0; i < results.size(); ++i) walk.seed(results[i], seeds[i]);
  walk.run();
  std::vector<Value*> gradients;
  for (Value* v : wrt) gradients.push_back(walk.cotangent(v));
  return gradients;
}

}  // namespace tapeless
