// What is kept between forward and backward is a minimum cut. Each forward value v is an edge
// v.in -> v.out whose capacity is its size: cutting it keeps v. Edges that cannot be cut lead from
// an operand to what can be computed again from it, from the source to parameters and to what
// cannot be computed again, and to the sink from what the backward part reads.
#include "tapeless/ops/recompute.h"

#include <algorithm>
#include <unordered_map>

#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/support/min_cut.h"

namespace tapeless {

namespace {

constexpr int64_t kUnknownSize = 256;

bool has_effects(const Op& op, const Module& module) {
  if (!op.is(kCallOp)) return false;
  const Function& callee = *module.get(op.attr<FunctionRef>("callee").name, op.loc);
  if (callee.external) return !callee.external->pure;
  return std::any_of(callee.body.begin(), callee.body.end(),
                     [&](const auto& inner) { return has_effects(*inner, module); });
}

}  // namespace

RecomputeCost recompute_cost(const Op& op, const Module& module) {
  if (has_effects(op, module)) return RecomputeCost::kNever;
  const Lowering* lower = op.def().lower;
  if (op.is(kCallOp) || (lower != nullptr && lower->contraction != nullptr))
    return RecomputeCost::kContraction;
  if (op.is(kConstantOp) || (lower != nullptr && lower->element != nullptr))
    return RecomputeCost::kCheap;
  return RecomputeCost::kReduction;
}

int64_t value_bytes(const Type& type, const Function& f, const SymbolValues& sizes) {
  Dim count = type.row_sparse ? type.rows : Dim(1);
  for (size_t i = type.row_sparse ? 1 : 0; i < type.shape.size(); ++i)
    count = count * type.shape[i];
  std::set<std::string> symbols;
  count.collect_symbols(symbols);
  SymbolValues values = sizes;
  for (const std::string& s : symbols) values.emplace(s, f.bound(s).value_or(kUnknownSize));
  return count.eval(values) * dtype_size(type.dtype);
}

JointView::JointView(const Module& module, const Function& f, const Function& joint)
    : module_(&module),
      joint_(&joint),
      first_seed_(f.param_count()),
      first_gradient_(static_cast<int>(f.result_types().size())) {
  TL_CHECK(joint.param_count() >= first_seed_ &&
               static_cast<int>(joint.results.size()) >= first_gradient_,
           "@{} is not the vjp of @{}", joint.name, f.name);
  for (int i = first_seed_; i < joint.param_count(); ++i) values_backward_.insert(joint.param(i));
  for (const auto& op : joint.body) {
    if (std::none_of(op->operands.begin(), op->operands.end(),
                     [&](const Value* v) { return backward(v); }))
      continue;
    op_backward_.insert(op.get());
    for (const auto& r : op->results) values_backward_.insert(r.get());
  }
  for (int i = 0; i < first_gradient_; ++i)
    TL_CHECK(!backward(joint.result(i)), "a result of @{} depends on a cotangent", joint.name);
}

int JointView::contraction_count() const {
  return static_cast<int>(
      std::count_if(joint_->body.begin(), joint_->body.end(), [&](const auto& op) {
        return !backward(*op) && recompute_cost(*op, *module_) == RecomputeCost::kContraction;
      }));
}

JointView::Keep JointView::cheapest(const SymbolValues& sizes, RecomputeCost allowed,
                                    int contractions) const {
  MinCut cut;
  std::unordered_map<const Value*, int> in;  // v.in; v.out is the next number
  std::vector<Value*> order;
  auto add = [&](Value* v, bool parameter) {
    in[v] = cut.add_node();
    cut.add_node();
    cut.add_edge(in[v], in[v] + 1, parameter ? 1 : value_bytes(v->type, *joint_, sizes) + 2);
    order.push_back(v);
  };
  for (int i = 0; i < first_seed_; ++i) {
    add(joint_->param(i), true);
    cut.add_edge(MinCut::kSource, in[joint_->param(i)], MinCut::kInfinite);
  }
  for (const auto& op : joint_->body) {
    if (backward(*op)) continue;
    RecomputeCost cost = recompute_cost(*op, *module_);
    bool again = cost <= allowed && (cost != RecomputeCost::kContraction || contractions-- > 0);
    for (const auto& r : op->results) {
      add(r.get(), false);
      if (!again) cut.add_edge(MinCut::kSource, in[r.get()], MinCut::kInfinite);
      for (const Value* v : op->operands)
        if (again) cut.add_edge(in[v] + 1, in[r.get()], MinCut::kInfinite);
    }
  }
  auto read = [&](const Value* v) {
    if (!backward(v)) cut.add_edge(in[v] + 1, MinCut::kSink, MinCut::kInfinite);
  };
  for (const auto& op : joint_->body)
    if (backward(*op)) std::for_each(op->operands.begin(), op->operands.end(), read);
  std::for_each(joint_->results.begin() + first_gradient_, joint_->results.end(), read);

  TL_CHECK(cut.solve() < MinCut::kInfinite, "no cut");
  Keep keep;
  for (Value* v : order) {
    if (cut.on_sink_side(in[v]) || !cut.on_sink_side(in[v] + 1)) continue;
    keep.values.push_back(v);
    if (v->def != nullptr) keep.bytes += value_bytes(v->type, *joint_, sizes);
  }
  return keep;
}

void JointView::emit_forward(Builder& b, ValueMap& map, std::span<Value* const> wanted) const {
  std::unordered_set<const Value*> live(wanted.begin(), wanted.end());
  std::vector<const Op*> needed;
  for (size_t i = joint_->body.size(); i-- > 0;) {
    const Op& op = *joint_->body[i];
    if (std::none_of(op.results.begin(), op.results.end(),
                     [&](const auto& r) { return live.count(r.get()) > 0; }))
      continue;
    needed.push_back(&op);
    live.insert(op.operands.begin(), op.operands.end());
  }
  for (auto op = needed.rbegin(); op != needed.rend(); ++op) clone_op(b, **op, map);
}

namespace {

// Computes forward values again on demand. The copies read kept values through barriers.
class Recomputer {
 public:
  Recomputer(Builder& b, const ValueMap& kept, bool barriers)
      : b_(b), kept_(kept), barriers_(barriers) {}

  Value* get(const Value* v) {
    if (Value* image = kept_.find(v)) return image;
    make(*v->def);
    return copies_[v];
  }

 private:
  void make(const Op& op) {
    if (copies_.find(op.result()) != nullptr) return;
    for (const Value* v : op.operands) {
      if (copies_.find(v) != nullptr) continue;
      Value* kept = kept_.find(v);
      if (kept == nullptr)
        make(*v->def);
      else
        copies_.set(v, hide(kept, op.loc));
    }
    Op* copy = clone_op(b_, op, copies_);
    copy->loc = op.loc.derived("recomputation of");
  }

  Value* hide(Value* kept, const Loc& loc) {
    if (!barriers_) return kept;
    b_.set_loc(loc.derived("recomputation of"));
    return b_.make(kBarrierOp, {kept});
  }

  Builder& b_;
  const ValueMap& kept_;
  bool barriers_;
  ValueMap copies_;
};

}  // namespace

std::vector<Value*> JointView::emit_backward(Builder& b, ValueMap& map, bool barriers) const {
  Recomputer again(b, map, barriers);
  ValueMap made = map;
  auto image = [&](const Value* v) {
    if (made.find(v) == nullptr) made.set(v, again.get(v));
    return made[v];
  };
  for (const auto& op : joint_->body) {
    if (!backward(*op)) continue;
    std::for_each(op->operands.begin(), op->operands.end(), image);
    clone_op(b, *op, made);
  }
  std::vector<Value*> gradients;
  for (size_t i = static_cast<size_t>(first_gradient_); i < joint_->results.size(); ++i)
    gradients.push_back(image(joint_->results[i]));
  return gradients;
}

}  // namespace tapeless
