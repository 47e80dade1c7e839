// Rounds over each function until nothing changes. A round copies the body op by op; each copy is
// merged with an equal earlier op, or folded, or rewritten by a rule of its own, and what nobody
// needs any more is dropped.
//
//   %a = neg %x
//   %b = neg %a          ->   %c = mul %x, %x
//   %c = mul %b, %x
#include "tapeless/simplify/simplify.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "tapeless/ir/clone.h"
#include "tapeless/ops/expand.h"
#include "tapeless/ops/ops.h"
#include "tapeless/simplify/fold.h"

namespace tapeless {

namespace {

// Every rule makes the function smaller or moves it towards a normal form; more rounds than this
// mean two rules that undo each other.
constexpr int kMaxRounds = 100;

void mix(size_t& hash, size_t value) { hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6); }

size_t hash_tensor(const Tensor& t) {
  std::string_view bytes(static_cast<const char*>(t.raw()), static_cast<size_t>(t.bytes()));
  return std::hash<std::string_view>{}(bytes);
}

size_t hash_op(const Op& op) {
  size_t hash = std::hash<const void*>{}(&op.def());
  for (const Value* v : op.operands) mix(hash, std::hash<const void*>{}(v));
  for (const auto& [key, attr] : op.attrs) {
    const auto* tensor = std::get_if<Tensor>(&attr);
    mix(hash, tensor != nullptr ? hash_tensor(tensor->dense())
                                : std::hash<std::string>{}(attr_str(attr)));
  }
  return hash;
}

bool equal_ops(const Op& a, const Op& b) {
  return &a.def() == &b.def() && a.operands == b.operands &&
         std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && same_attr(x.second, y.second);
                    });
}

class Round {
 public:
  Round(const Function& from, const Module& module)
      : from_(from), module_(module), to_(clone_signature(from, map_)), b_(*to_, &module) {}

  bool run() {
    for (const auto& op : from_.body) settle(*op, *clone_op(b_, *op, map_));
    for (size_t i = 0; i < from_.results.size(); ++i)
      to_->add_result(map_[from_.results[i]], from_.result_names[i]);
    return (remove_dead_ops(*to_) > 0) | changed_;
  }

  std::unique_ptr<Function> take() { return std::move(to_); }

 private:
  void settle(const Op& op, Op& copy) {
    size_t hash = hash_op(copy);
    if (const Op* earlier = find_equal(copy, hash)) {
      for (size_t i = 0; i < op.results.size(); ++i)
        map_.set(op.results[i].get(), earlier->results[i].get());
      to_->body.pop_back();
      changed_ = true;
      return;
    }
    b_.set_loc(op.loc);
    std::vector<Value*> values = rewritten(copy);
    if (values.empty()) seen_.emplace(hash, &copy);
    for (size_t i = 0; i < values.size(); ++i) replace(op, i, values[i]);
    changed_ |= !values.empty();
  }

  const Op* find_equal(const Op& op, size_t hash) const {
    if (!mergeable(op)) return nullptr;
    auto [first, last] = seen_.equal_range(hash);
    auto found = std::find_if(first, last, [&](const auto& e) { return equal_ops(*e.second, op); });
    return found == last ? nullptr : found->second;
  }

  std::vector<Value*> rewritten(const Op& op) {
    if (Value* constant = fold_constants(b_, op)) return {constant};
    for (RewriteRule rule : op.def().rules)
      if (std::vector<Value*> values = rule(b_, op); !values.empty()) return values;
    return {};
  }

  void replace(const Op& op, size_t i, Value* value) {
    const Value& result = *op.results[i];
    TL_CHECK(value->type == result.type, "[{}] rewritten as {} instead of {}", op.name(),
             value->type.str(), result.type.str());
    if (value->name.empty() && value->def != nullptr) value->name = result.name;
    map_.set(&result, value);
  }

  // Equal ops are one: keys are explicit, so equal keys mean equal random bits.
  bool mergeable(const Op& op) const {
    if (op.is(kBarrierOp)) return false;
    return !op.is(kCallOp) || pure(*module_.find(op.attr<FunctionRef>("callee").name));
  }

  bool pure(const Function& f) const {
    if (f.external) return f.external->pure;
    return std::all_of(f.body.begin(), f.body.end(), [&](const auto& op) {
      return !op->is(kCallOp) || pure(*module_.find(op->template attr<FunctionRef>("callee").name));
    });
  }

  const Function& from_;
  const Module& module_;
  ValueMap map_;
  std::unique_ptr<Function> to_;
  Builder b_;
  std::unordered_multimap<size_t, Op*> seen_;
  bool changed_ = false;
};

std::unique_ptr<Function> simplify_function(const Function& f, const Module& module) {
  std::unique_ptr<Function> current = clone(f);
  for (int i = 0; i < kMaxRounds; ++i) {
    Round round(*current, module);
    bool changed = round.run();
    current = round.take();
    if (!changed) return current;
  }
  TL_CHECK(false, "@{} does not settle", f.name);
}

}  // namespace

Module simplify(const Module& module) {
  TL_CHECK(module.stage >= Stage::kSpecialized, "simplify comes after specialize");
  Module out;
  out.stage = module.stage;
  out.optimizers = module.optimizers;
  for (const auto& f : module.functions)
    out.functions.push_back(f->has_body() ? simplify_function(*f, module) : clone(*f));
  return out;
}

Module expand_composites(const Module& module) {
  Module out;
  out.stage = module.stage;
  out.optimizers = module.optimizers;
  for (const auto& f : module.functions)
    out.functions.push_back(expand_ops(*f, module, [](const OpDef& def) {
      return def.expand != nullptr && def.lower == nullptr;
    }));
  return out;
}

}  // namespace tapeless
