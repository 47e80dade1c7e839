// Calls become the bodies of their callees, callees first, so that each body is copied flat:
//
//   %y = call @g %x          ->    %h = tanh %x
//   (@g: %h = tanh, %y = neg)      %y = neg %h
#include "tapeless/inline/inline_calls.h"

#include <set>

#include "tapeless/ir/clone.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

class Inliner {
 public:
  explicit Inliner(Module& module) : module_(module) {}

  void flatten(Function& f) {
    if (!done_.insert(&f).second || !f.has_body()) return;
    std::vector<std::unique_ptr<Op>> old = std::move(f.body);
    f.body.clear();
    ValueMap map;
    for (const auto& p : f.params) map.set(p.get(), p.get());
    Builder b(f, &module_);
    for (const auto& op : old) {
      Function* callee = inlined_callee(*op);
      if (callee == nullptr) {
        clone_op(b, *op, map);
        continue;
      }
      flatten(*callee);
      b.set_loc(op->loc);
      std::vector<Value*> values = inline_body(b, *callee, map.all(op->operands));
      for (size_t i = 0; i < values.size(); ++i) map.set(op->results[i].get(), values[i]);
    }
    f.results = map.all(f.results);
  }

 private:
  // Null where the op stays as it is.
  Function* inlined_callee(const Op& op) const {
    if (!op.is(kCallOp)) return nullptr;
    TL_CHECK(!op.has("mode"), "inline_calls comes after specialize");
    Function* callee = module_.get(op.attr<FunctionRef>("callee").name, op.loc);
    bool own_rule = module_.stage < Stage::kDifferentiated && !callee->vjp.empty();
    return callee->has_body() && !own_rule ? callee : nullptr;
  }

  Module& module_;
  std::set<const Function*> done_;
};

void reach(const Module& module, const Function& f, std::set<std::string>& names) {
  if (!names.insert(f.name).second) return;
  auto visit = [&](const std::string& name) { reach(module, *module.get(name, f.loc), names); };
  if (!f.vjp.empty()) visit(f.vjp);
  if (f.train_form) visit(*f.train_form);
  if (f.infer_form) visit(*f.infer_form);
  for (const auto& op : f.body)
    for (const auto& [key, attr] : op->attrs)
      if (const auto* ref = std::get_if<FunctionRef>(&attr)) visit(ref->name);
}

}  // namespace

Module inline_calls(const Module& module) {
  Module out = clone(module);
  Inliner inliner(out);
  for (const auto& f : out.functions) inliner.flatten(*f);
  return out;
}

Module keep_reachable(const Module& module, std::span<const std::string> entries) {
  std::set<std::string> names;
  for (const std::string& entry : entries) reach(module, *module.get(entry), names);
  Module out = clone(module);
  std::erase_if(out.functions, [&](const auto& f) { return names.count(f->name) == 0; });
  return out;
}

}  // namespace tapeless
