// The containers of the IR: functions and modules.
#include "tapeless/ir/module.h"

#include <algorithm>
#include <array>

#include "tapeless/ir/op_def.h"

namespace tapeless {

std::string_view role_name(Role role) {
  constexpr std::array<std::string_view, 5> kNames = {"input", "param", "state", "key", "hyper"};
  return kNames[static_cast<size_t>(role)];
}

std::string_view mode_name(Mode mode) { return mode == Mode::kTrain ? "train" : "infer"; }

std::string_view stage_name(Stage stage) {
  constexpr std::array<std::string_view, 7> kNames = {
      "source", "specialized", "differentiated", "stepped", "simplified", "fused", "planned"};
  return kNames[static_cast<size_t>(stage)];
}

std::string_view Op::name() const { return def_->name; }

Value* Function::add_param(std::string param_name, Type type, Role role) {
  auto value = std::make_unique<Value>();
  value->type = std::move(type);
  value->name = std::move(param_name);
  value->index = param_count();
  params.push_back(std::move(value));
  roles.push_back(role);
  return params.back().get();
}

Value* Function::find_param(std::string_view param_name) const {
  for (const auto& p : params)
    if (p->name == param_name) return p.get();
  return nullptr;
}

void Function::add_result(Value* value, std::string result_name) {
  results.push_back(value);
  result_names.push_back(std::move(result_name));
}

std::optional<int64_t> Function::bound(const std::string& symbol) const {
  auto found = bounds.find(symbol);
  return found == bounds.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

std::vector<Type> Function::param_types() const {
  std::vector<Type> types;
  for (const auto& p : params) types.push_back(p->type);
  return types;
}

std::vector<Type> Function::result_types() const {
  if (results.empty()) return declared_results;
  std::vector<Type> types;
  for (const Value* r : results) types.push_back(r->type);
  return types;
}

Function* Module::find(std::string_view name) const {
  for (const auto& f : functions)
    if (f->name == name) return f.get();
  return nullptr;
}

Function* Module::get(std::string_view name, const Loc& loc) const {
  if (Function* f = find(name)) return f;
  std::vector<std::string> names;
  for (const auto& f : functions) names.push_back(f->name);
  std::string near = nearest(std::string(name), names);
  compile_error(loc, "no function @{}{}", name,
                near.empty() ? std::string() : ", did you mean @" + near + "?");
}

Function* Module::add(std::string name) {
  TL_CHECK(find(name) == nullptr, "function @{} exists", name);
  functions.push_back(std::make_unique<Function>(std::move(name)));
  return functions.back().get();
}

std::string Module::fresh_name(const std::string& base) const {
  if (find(base) == nullptr) return base;
  for (int i = 2;; ++i) {
    std::string name = base + "_" + std::to_string(i);
    if (find(name) == nullptr) return name;
  }
}

void Module::erase(std::string_view name) {
  std::erase_if(functions, [&](const auto& f) { return f->name == name; });
}

}  // namespace tapeless
