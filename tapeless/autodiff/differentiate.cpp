// Reverse mode, IR to IR. The vjp of a function is its own body followed by one walk over that body
// in reverse: each op that has a cotangent asks its rule for those of its operands.
//
//   func @f(%x: f32[4] input, %w: f32[4] param) -> f32[] {
//     %p = mul %x, %w
//     %y = sum %p
//     return %y
//   }
// becomes, with respect to %w,
//   func @f.vjp(%x: f32[4] input, %w: f32[4] param, %d.0: f32[] input) -> (f32[], grad.w: f32[4]) {
//     %p = mul %x, %w
//     %y = sum %p
//     %0 = reshape %d.0 {shape = [1]}
//     %d.p = broadcast_to %0 {shape = [4]}
//     %d.w = mul %d.p, %x
//     return %y, %d.w
//   }
#include "tapeless/autodiff/differentiate.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "tapeless/autodiff/walk.h"
#include "tapeless/ir/clone.h"
#include "tapeless/ops/build.h"
#include "tapeless/ops/expand.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

// Which parameters need a gradient, or which results have a cotangent.
using Mask = std::vector<bool>;

// How a call is pulled back: the function to call and the operands that it gives cotangents of.
struct Pullback {
  std::string function;
  std::vector<size_t> given;
};

class Differentiator : public CallRule {
 public:
  explicit Differentiator(Module& module) : module_(module) {}

  void add_joint(const Function& f, const Mask& needed, const Mask& seeded) {
    build(f, f.name + ".vjp", needed, seeded, true);
    if (!errors_.empty()) throw CompileError(std::move(errors_));
  }

  void missing(const CompileError& error) override {
    errors_.insert(errors_.end(), error.diagnostics().begin(), error.diagnostics().end());
  }

  // dx for the operands of `y = call @g x`: by the user's rule or by the pullback of g.
  std::vector<Value*> pull_back(Builder& b, const Op& op, std::span<Value* const> cotangents,
                                const Mask& needed) override {
    const Function& callee = *module_.get(op.attr<FunctionRef>("callee").name, op.loc);
    if (!callee.vjp.empty()) return by_user_rule(b, op, callee, cotangents, needed);
    if (!callee.has_body())
      compile_error(op.loc, "[call] @{} is external and has no vjp", callee.name);
    Mask seeded;
    std::vector<Value*> arguments = op.operands;
    for (Value* d : cotangents) {
      seeded.push_back(d != nullptr);
      if (d != nullptr) arguments.push_back(d);
    }
    const Pullback& pullback = pullback_of(callee, needed, seeded);
    std::vector<Value*> given(op.operands.size(), nullptr);
    if (pullback.given.empty()) return given;
    std::vector<Value*> values = build::call(b, pullback.function, arguments);
    for (size_t i = 0; i < values.size(); ++i) given[pullback.given[i]] = values[i];
    return given;
  }

 private:
  // The user's function takes (operands, results, cotangents of float results) and returns a
  // cotangent for each float operand. It wants all of them, so an absent one is made zero here.
  std::vector<Value*> by_user_rule(Builder& b, const Op& op, const Function& callee,
                                   std::span<Value* const> cotangents, const Mask& needed) {
    std::vector<Value*> arguments = op.operands;
    for (const auto& r : op.results) arguments.push_back(r.get());
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!is_float(op.results[i]->type.dtype)) continue;
      Value* d = cotangents[i];
      arguments.push_back(d != nullptr ? d : build::full_like(b, op.results[i].get(), 0));
    }
    std::vector<Value*> values = build::call(b, callee.vjp, arguments);
    std::vector<Value*> given(op.operands.size(), nullptr);
    size_t next = 0;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (!is_float(op.operands[i]->type.dtype)) continue;
      if (next < values.size() && needed[i]) given[i] = values[next];
      ++next;
    }
    if (next != values.size())
      compile_error(callee.loc,
                    "@{} must return a cotangent for each of the {} float operands of "
                    "@{}, got {}",
                    callee.vjp, next, callee.name, values.size());
    return given;
  }

  const Pullback& pullback_of(const Function& callee, const Mask& needed, const Mask& seeded) {
    auto key = std::make_tuple(callee.name, needed, seeded);
    auto found = pullbacks_.find(key);
    if (found == pullbacks_.end()) {
      Pullback made =
          build(callee, module_.fresh_name(callee.name + ".vjp"), needed, seeded, false);
      found = pullbacks_.emplace(std::move(key), std::move(made)).first;
    }
    return found->second;
  }

  // The forward part: the body with composite ops expanded where only the expansion has rules; one
  // call where the function itself has a rule of the user's.
  std::vector<Value*> forward(Builder& b, const Function& f, ValueMap& map) {
    if (!f.has_body() || !f.vjp.empty()) {
      std::vector<Value*> arguments;
      for (const auto& p : f.params) arguments.push_back(map[p.get()]);
      b.set_loc(f.loc);
      return build::call(b, f.name, arguments);
    }
    std::unique_ptr<Function> flat = expand_ops(
        f, module_, [](const OpDef& def) { return def.vjp == nullptr && def.expand != nullptr; });
    for (size_t i = 0; i < f.params.size(); ++i)
      map.set(flat->params[i].get(), map[f.params[i].get()]);
    for (const auto& op : flat->body) clone_op(b, *op, map);
    return map.all(flat->results);
  }

  Pullback build(const Function& f, const std::string& name, const Mask& needed, const Mask& seeded,
                 bool with_results) {
    ValueMap map;
    std::unique_ptr<Function> made = clone_signature(f, map);
    made->name = name;
    made->vjp.clear();
    made->external.reset();
    made->declared_results.clear();
    Builder b(*made, &module_);
    std::vector<Value*> results = forward(b, f, map);
    std::vector<Value*> seeds = add_seeds(*made, f, results, seeded);
    std::vector<Value*> wrt;
    for (int i = 0; i < f.param_count(); ++i)
      if (needed[static_cast<size_t>(i)]) wrt.push_back(made->param(i));

    std::vector<Value*> gradients = walk_back(b, wrt, results, seeds, *this);
    if (with_results)
      for (size_t i = 0; i < results.size(); ++i)
        made->add_result(results[i], i < f.result_names.size() ? f.result_names[i] : "");
    Pullback pullback{name, {}};
    for (size_t i = 0; i < wrt.size(); ++i) {
      if (gradients[i] == nullptr) continue;
      made->add_result(gradients[i], "grad." + wrt[i]->name);
      pullback.given.push_back(static_cast<size_t>(wrt[i]->index));
    }
    remove_dead_ops(*made);
    module_.functions.push_back(std::move(made));
    return pullback;
  }

  static std::vector<Value*> add_seeds(Function& made, const Function& f,
                                       std::span<Value* const> results, const Mask& seeded) {
    std::vector<Value*> seeds(results.size(), nullptr);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!seeded[i]) continue;
      bool named = i < f.result_names.size() && !f.result_names[i].empty();
      std::string name = "d." + (named ? f.result_names[i] : std::to_string(i));
      seeds[i] = made.add_param(name, results[i]->type, Role::kInput);
    }
    return seeds;
  }

  Module& module_;
  std::vector<Diagnostic> errors_;
  std::map<std::tuple<std::string, Mask, Mask>, Pullback> pullbacks_;
};

Mask needed_params(const Function& f, const std::vector<std::string>& wrt) {
  Mask needed(f.params.size(), false);
  std::vector<std::string> names;
  for (const auto& p : f.params) names.push_back(p->name);
  for (const std::string& name : wrt) {
    Value* p = f.find_param(name);
    if (p == nullptr) {
      std::string near = nearest(name, names);
      compile_error(f.loc, "@{} has no parameter %{}{}", f.name, name,
                    near.empty() ? "" : ", did you mean %" + near + "?");
    }
    if (!is_float(p->type.dtype))
      compile_error(f.loc, "no gradient of %{}: {} of @{} is not a float", name, p->type.str(),
                    f.name);
    if (f.roles[static_cast<size_t>(p->index)] == Role::kState)
      compile_error(f.loc, "no gradient of %{}: it is state of @{}", name, f.name);
    needed[static_cast<size_t>(p->index)] = true;
  }
  for (size_t i = 0; wrt.empty() && i < f.params.size(); ++i)
    needed[i] = f.roles[i] == Role::kParam && is_float(f.params[i]->type.dtype);
  return needed;
}

Mask seeded_results(const Function& f, const std::vector<std::string>& of) {
  std::vector<Type> types = f.result_types();
  auto name = [&](size_t i) { return i < f.result_names.size() ? f.result_names[i] : ""; };
  Mask seeded(types.size(), false);
  for (const std::string& wanted : of) {
    size_t i = 0;
    while (i < types.size() && wanted != name(i) && wanted != std::to_string(i)) ++i;
    if (i == types.size()) compile_error(f.loc, "@{} has no result {}", f.name, wanted);
    if (!is_float(types[i].dtype))
      compile_error(f.loc, "no gradient of result {} of @{}: {} is not a float", wanted, f.name,
                    types[i].str());
    seeded[i] = true;
  }
  for (size_t i = 0; of.empty() && i < types.size(); ++i)
    seeded[i] = is_float(types[i].dtype) && !name(i).starts_with('%');
  return seeded;
}

}  // namespace

Module differentiate(const Module& module, const GradientRequest& request) {
  const Function* f = module.get(request.function);
  if (module.stage < Stage::kSpecialized)
    compile_error(f->loc, "@{} cannot be differentiated before it is specialized for a mode",
                  f->name);
  if (module.find(f->name + ".vjp") != nullptr)
    compile_error(f->loc, "@{} is differentiated already: there is @{}.vjp", f->name, f->name);
  Mask needed = needed_params(*f, request.wrt);
  Mask seeded = seeded_results(*f, request.of);
  Module out = clone(module);
  out.stage = std::max(out.stage, Stage::kDifferentiated);
  Differentiator(out).add_joint(*out.get(request.function), needed, seeded);
  return out;
}

}  // namespace tapeless
