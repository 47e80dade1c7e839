// Keys of random ops. A site's hash is FNV-1a of its name: equal in every run and on every machine.
#include "tapeless/mode/keys.h"

#include <unordered_map>

#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

int64_t hash_name(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3u;
  return static_cast<int64_t>(hash);
}

}  // namespace

Value* SiteKeys::parameter() {
  Function& f = b_.function();
  for (size_t i = 0; i < f.params.size(); ++i)
    if (f.roles[i] == Role::kKey) return f.params[i].get();
  added_ = true;
  std::string name = "key";
  while (f.find_param(name) != nullptr) name += "_";
  return f.add_param(name, Type::key(), Role::kKey);
}

Value* SiteKeys::make(const Op& op) {
  std::string name = op.results.empty() ? "" : op.result()->name;
  if (name.empty()) name = op.has("callee") ? op.attr<FunctionRef>("callee").name : op.name();
  int use = ++uses_[name];
  if (use > 1) name += "#" + std::to_string(use);
  Value* key = b_.make(kFoldInOp, {parameter()}, {{"data", hash_name(name)}});
  return Builder::named(key, "key." + name);
}

void check_single_use_of_keys(const Function& f) {
  std::unordered_map<const Value*, const Op*> consumer;
  std::vector<Diagnostic> errors;
  for (const auto& op : f.body) {
    if (op->is(kFoldInOp)) continue;
    for (const Value* v : op->operands) {
      if (v->type.dtype != DType::kKey) continue;
      auto [first, fresh] = consumer.emplace(v, op.get());
      if (!fresh)
        errors.push_back({op->loc, fmt::format("[{}] key %{} is used already by `{}` at {}: derive "
                                               "another with split or fold_in",
                                               op->name(), v->name, first->second->name(),
                                               first->second->loc.str())});
    }
  }
  if (!errors.empty()) throw CompileError(std::move(errors));
}

}  // namespace tapeless
