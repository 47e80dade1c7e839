// Copies of functions and ops under a map of values: the base of every pass that rebuilds.
#include "tapeless/ir/clone.h"

#include <algorithm>
#include <unordered_set>

namespace tapeless {

Value* ValueMap::operator[](const Value* from) const {
  Value* to = find(from);
  TL_CHECK(to != nullptr, "value %{} has no image", from->name);
  return to;
}

std::vector<Value*> ValueMap::all(std::span<Value* const> from) const {
  std::vector<Value*> to;
  for (const Value* v : from) to.push_back((*this)[v]);
  return to;
}

std::unique_ptr<Function> clone_signature(const Function& from, ValueMap& map) {
  auto to = std::make_unique<Function>(from.name);
  for (int i = 0; i < from.param_count(); ++i)
    map.set(from.param(i), to->add_param(from.param(i)->name, from.param(i)->type,
                                         from.roles[static_cast<size_t>(i)]));
  to->loc = from.loc;
  to->bounds = from.bounds;
  to->declared_results = from.declared_results;
  to->external = from.external;
  to->vjp = from.vjp;
  to->train_form = from.train_form;
  to->infer_form = from.infer_form;
  return to;
}

Op* clone_op(Builder& b, const Op& op, ValueMap& map) {
  Loc saved = b.loc();
  b.set_loc(op.loc);
  Op* copy = b.make_op(op.def(), map.all(op.operands), op.attrs);
  b.set_loc(std::move(saved));
  for (size_t i = 0; i < op.results.size(); ++i) {
    copy->results[i]->name = op.results[i]->name;
    map.set(op.results[i].get(), copy->results[i].get());
  }
  return copy;
}

std::unique_ptr<Function> clone(const Function& from) {
  ValueMap map;
  auto to = clone_signature(from, map);
  for (const auto& op : from.body) {
    // Types are copied, not inferred: a lone function cannot resolve the calls it makes.
    auto copy = std::make_unique<Op>(op->def(), map.all(op->operands), op->attrs, op->loc);
    for (const auto& r : op->results) {
      copy->results.push_back(std::make_unique<Value>(*r));
      copy->results.back()->def = copy.get();
      map.set(r.get(), copy->results.back().get());
    }
    to->body.push_back(std::move(copy));
  }
  for (size_t i = 0; i < from.results.size(); ++i)
    to->add_result(map[from.results[i]], from.result_names[i]);
  return to;
}

Module clone(const Module& module) {
  Module out;
  out.stage = module.stage;
  out.optimizers = module.optimizers;
  for (const auto& f : module.functions) out.functions.push_back(clone(*f));
  return out;
}

AttrMap substitute(const AttrMap& attrs, const std::map<std::string, Dim>& with) {
  AttrMap out = attrs;
  for (auto& [name, attr] : out)
    if (auto* shape = std::get_if<Shape>(&attr))
      for (Dim& d : *shape) d = d.substitute(with);
  return out;
}

std::vector<Value*> inline_body(Builder& b, const Function& callee,
                                std::span<Value* const> arguments) {
  std::vector<Type> types;
  for (const Value* v : arguments) types.push_back(v->type);
  auto binding = bind_call_symbols(callee, types, b.loc());
  ValueMap map;
  for (size_t i = 0; i < arguments.size(); ++i) map.set(callee.params[i].get(), arguments[i]);
  Loc saved = b.loc();
  for (const auto& op : callee.body) {
    b.set_loc(op->loc);
    Op* copy = b.make_op(op->def(), map.all(op->operands), substitute(op->attrs, binding));
    for (size_t i = 0; i < op->results.size(); ++i) {
      copy->results[i]->name = op->results[i]->name;
      map.set(op->results[i].get(), copy->results[i].get());
    }
  }
  b.set_loc(std::move(saved));
  return map.all(callee.results);
}

int remove_dead_ops(Function& f) {
  std::unordered_set<const Value*> live(f.results.begin(), f.results.end());
  std::vector<bool> keep(f.body.size());
  for (size_t i = f.body.size(); i-- > 0;) {
    const Op& op = *f.body[i];
    // An op without results acts by its effect on the function (set_state).
    keep[i] = op.results.empty() || std::any_of(op.results.begin(), op.results.end(),
                                                [&](const auto& r) { return live.count(r.get()); });
    if (keep[i]) live.insert(op.operands.begin(), op.operands.end());
  }
  size_t kept = 0;
  for (size_t i = 0; i < f.body.size(); ++i)
    if (keep[i]) f.body[kept++] = std::move(f.body[i]);
  int removed = static_cast<int>(f.body.size() - kept);
  f.body.resize(kept);
  return removed;
}

}  // namespace tapeless
