// Which group, optimizer and settings a parameter gets.
#include "tapeless/optim/groups.h"

#include <cmath>

#include "tapeless/optim/parse_optimizer.h"

namespace tapeless::optim {

namespace {

constexpr const char* kDecay = "weight_decay";

bool group_matches(const Group& group, const std::string& name) {
  for (const std::string& pattern : group.patterns)
    if (matches(pattern, name)) return true;
  return false;
}

std::vector<std::string> param_names(const Function& f) {
  std::vector<std::string> names;
  for (int i = 0; i < f.param_count(); ++i)
    if (f.roles[static_cast<size_t>(i)] == Role::kParam) names.push_back(f.param(i)->name);
  return names;
}

void check_patterns(const StepOptions& options, const std::vector<std::string>& names) {
  for (const Group& group : options.groups) {
    for (const std::string& pattern : group.patterns) {
      bool any = false;
      for (const std::string& name : names) any = any || matches(pattern, name);
      if (any) continue;
      std::string near = nearest(pattern, names);
      compile_error(group.loc, "group `{}`: pattern `{}` matches no parameter{}", group.name,
                    pattern, near.empty() ? std::string() : ", did you mean `" + near + "`?");
    }
  }
}

Choice choose(const StepOptions& options, const std::string& name, const Type& type) {
  Choice out;
  out.optimizer = options.optimizer;
  out.settings = options.settings;
  out.loc = options.loc;
  bool decay_all = options.decay_all;
  for (const Group& group : options.groups) {
    if (!group_matches(group, name)) continue;
    out.group = &group;
    out.frozen = group.frozen;
    out.loc = group.loc;
    decay_all = decay_all || group.decay_all;
    bool own = !group.optimizer.empty() && group.optimizer != options.optimizer;
    if (own) out.optimizer = group.optimizer, out.settings.clear();
    for (const auto& [key, value] : group.settings) out.settings[key] = value;
    break;
  }
  out.undecayed = type.rank() < 2 && !decay_all;
  return out;
}

void check_limit(const char* what, const std::optional<double>& limit, const Loc& loc) {
  if (limit && !(*limit >= 0)) compile_error(loc, "{} must not be negative, got {}", what, *limit);
}

}  // namespace

// On a mismatch the last `*` takes one letter more.
bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Choices::Choices(const Module& module, const Function& loss, const StepOptions& options) {
  check_patterns(options, param_names(loss));
  check_limit("the gradient norm to clip at", options.clip_norm, options.loc);
  check_limit("the gradient value to clip at", options.clip_value, options.loc);
  if (options.ema_decay && !(*options.ema_decay >= 0 && *options.ema_decay < 1))
    compile_error(options.loc, "the decay of averaged weights must lie in [0, 1), got {}",
                  *options.ema_decay);
  hyper_values(load(options.optimizer, module, options.loc), options.settings, options.loc);
  for (int i = 0; i < loss.param_count(); ++i) {
    if (loss.roles[static_cast<size_t>(i)] != Role::kParam) continue;
    const Value* p = loss.param(i);
    Choice choice = choose(options, p->name, p->type);
    const OptimizerDef& def = load(choice.optimizer, module, choice.loc);
    hyper_values(def, choice.settings, choice.loc);
    choice.undecayed = choice.undecayed && def.find_hyper(kDecay) != nullptr;
    if (choice.undecayed) choice.settings[kDecay] = 0.0;
    choices_[p->name] = std::move(choice);
  }
}

const OptimizerDef& Choices::load(const std::string& name, const Module& module, const Loc& loc) {
  auto found = optimizers_.find(name);
  if (found == optimizers_.end())
    found = optimizers_.emplace(name, find_optimizer(name, &module, loc)).first;
  return found->second;
}

}  // namespace tapeless::optim
