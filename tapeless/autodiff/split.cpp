// The joint function in two: what does not depend on the cotangents, and the rest.
//
//   func @f.vjp(%x, %w, %d.y) -> (y, grad.w)      func @f.forward(%x, %w) -> (y, saved.0)
//     %h = matmul %x, %w                            %h = matmul %x, %w
//     %y = tanh %h                                  %y = tanh %h
//     %1 = mul %y, %y                        ->     return %y, %y
//     ...                                         func @f.backward(%x, %saved.0, %d.y) -> grad.w
//     %d.w = matmul %x, %d.h {transpose_a}          %1 = mul %saved.0, %saved.0 ...
#include "tapeless/autodiff/split.h"

#include <fmt/core.h>

#include <algorithm>

#include "tapeless/ops/ops.h"
#include "tapeless/ops/recompute.h"

namespace tapeless {

namespace {

struct Parts {
  const Function& f;
  JointView view;
  JointView::Keep keep;
};

Parts cut(const Module& module, const SplitRequest& request) {
  const Function& f = *module.get(request.function);
  const Function* joint = module.find(f.name + ".vjp");
  if (joint == nullptr)
    compile_error(f.loc, "@{} is not differentiated: there is no @{}.vjp to split", f.name, f.name);
  JointView view(module, f, *joint);
  return {f, view, view.cheapest(request.sizes, RecomputeCost::kCheap)};
}

void collect_symbols(const Type& type, std::set<std::string>& into) {
  for (const Dim& d : type.shape) d.collect_symbols(into);
  type.rows.collect_symbols(into);
}

void lone_symbols(const Type& type, std::set<std::string>& into) {
  for (const Dim& d : type.shape)
    if (auto symbol = d.as_symbol()) into.insert(*symbol);
}

// Sizes are bound by the shapes of parameters: where no kept value has a symbol as a size of its
// own, the backward takes the parameter that has.
void keep_sizes(const Function& joint, int first_seed, std::vector<Value*>& kept) {
  std::set<std::string> used, bound;
  for (const auto& op : joint.body)
    for (const auto& r : op->results) collect_symbols(r->type, used);
  for (const auto& p : joint.params) collect_symbols(p->type, used);
  for (const Value* v : kept) lone_symbols(v->type, bound);
  for (int i = first_seed; i < joint.param_count(); ++i) lone_symbols(joint.param(i)->type, bound);
  for (int i = 0; i < first_seed; ++i) {
    std::set<std::string> own, missing;
    lone_symbols(joint.param(i)->type, own);
    std::set_difference(own.begin(), own.end(), bound.begin(), bound.end(),
                        std::inserter(missing, missing.end()));
    if (std::none_of(missing.begin(), missing.end(), [&](auto& s) { return used.count(s) > 0; }))
      continue;
    kept.push_back(joint.param(i));
    bound.insert(own.begin(), own.end());
  }
  std::stable_sort(kept.begin(), kept.end(), [](const Value* a, const Value* b) {
    return a->def == nullptr && (b->def != nullptr || a->index < b->index);
  });
}

std::unique_ptr<Function> forward_part(const Module& module, const Parts& parts) {
  ValueMap map;
  auto forward = std::make_unique<Function>(parts.f.name + ".forward");
  forward->loc = parts.f.loc;
  forward->bounds = parts.view.joint().bounds;
  for (int i = 0; i < parts.view.first_seed(); ++i) {
    const Value* p = parts.view.joint().param(i);
    map.set(p, forward->add_param(p->name, p->type, parts.f.roles[static_cast<size_t>(i)]));
  }
  const Function& joint = parts.view.joint();
  std::vector<Value*> wanted(joint.results.begin(),
                             joint.results.begin() + parts.view.first_gradient());
  wanted.insert(wanted.end(), parts.keep.values.begin(), parts.keep.values.end());
  Builder b(*forward, &module);
  parts.view.emit_forward(b, map, wanted);
  for (size_t i = 0; i < static_cast<size_t>(parts.view.first_gradient()); ++i)
    forward->add_result(map[joint.results[i]], joint.result_names[i]);
  int next = 0;
  for (const Value* v : parts.keep.values)
    if (v->def != nullptr) forward->add_result(map[v], "saved." + std::to_string(next++));
  return forward;
}

std::unique_ptr<Function> backward_part(const Module& module, const Parts& parts) {
  const Function& joint = parts.view.joint();
  auto backward = std::make_unique<Function>(parts.f.name + ".backward");
  backward->loc = parts.f.loc;
  ValueMap map;
  std::vector<Value*> kept = parts.keep.values;
  keep_sizes(joint, parts.view.first_seed(), kept);
  int next = 0;
  std::set<std::string> symbols;
  auto add = [&](const Value* v, std::string name, Role role) {
    map.set(v, backward->add_param(std::move(name), v->type, role));
    collect_symbols(v->type, symbols);
  };
  for (const Value* v : kept)
    v->def == nullptr ? add(v, v->name, joint.roles[static_cast<size_t>(v->index)])
                      : add(v, "saved." + std::to_string(next++), Role::kInput);
  for (int i = parts.view.first_seed(); i < joint.param_count(); ++i)
    add(joint.param(i), joint.param(i)->name, Role::kInput);
  for (const auto& [symbol, bound] : joint.bounds)
    if (symbols.count(symbol) > 0) backward->bounds.emplace(symbol, bound);
  Builder b(*backward, &module);
  std::vector<Value*> gradients = parts.view.emit_backward(b, map, false);
  for (size_t i = 0; i < gradients.size(); ++i)
    backward->add_result(gradients[i],
                         joint.result_names[static_cast<size_t>(parts.view.first_gradient()) + i]);
  return backward;
}

std::string reason(const Value* v, const Function& f) {
  if (v->def == nullptr)
    return fmt::format("{}, by reference", role_name(f.roles[static_cast<size_t>(v->index)]));
  const Op& op = *v->def;
  std::string what = "result of " + std::string(op.name());
  if (std::count(f.results.begin(), f.results.end(), v) > 0) what += ", also a result";
  return what;
}

}  // namespace

Module split(const Module& module, const SplitRequest& request) {
  Module out = clone(module);
  Parts parts = cut(out, request);
  for (const char* part : {".forward", ".backward"})
    if (out.find(parts.f.name + part) != nullptr)
      compile_error(parts.f.loc, "there is a function @{}{} already", parts.f.name, part);
  std::unique_ptr<Function> forward = forward_part(out, parts);
  std::unique_ptr<Function> backward = backward_part(out, parts);
  out.functions.push_back(std::move(forward));
  out.functions.push_back(std::move(backward));
  return out;
}

std::vector<SavedValue> list_saved(const Module& module, const SplitRequest& request) {
  Parts parts = cut(module, request);
  const Function& joint = parts.view.joint();
  std::vector<Value*> kept = parts.keep.values;
  keep_sizes(joint, parts.view.first_seed(), kept);
  std::vector<SavedValue> saved;
  int next = 0;
  for (const Value* v : kept) {
    std::string name = v->def == nullptr ? v->name : "saved." + std::to_string(next++);
    saved.push_back(
        {name, v->name, v->type, value_bytes(v->type, joint, request.sizes), reason(v, joint)});
  }
  return saved;
}

std::string explain_saved(const std::vector<SavedValue>& saved) {
  std::string out;
  int64_t total = 0;
  for (const SavedValue& s : saved) {
    out += fmt::format("%{:<16} {:<24} {:>12} bytes  {}{}\n", s.name, s.type.str(), s.bytes,
                       s.reason, s.value.empty() || s.value == s.name ? "" : ", %" + s.value);
    if (!s.reason.ends_with("by reference")) total += s.bytes;
  }
  return out + fmt::format("{} bytes saved\n", total);
}

}  // namespace tapeless
