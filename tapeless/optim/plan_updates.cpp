// From options to a plan: which function updates each parameter, with which state and hypers.
#include "tapeless/optim/plan_updates.h"

#include <algorithm>

namespace tapeless::optim {

const ParamPlan* StepPlan::find(const std::string& param) const {
  for (const ParamPlan& p : params)
    if (p.name == param) return &p;
  return nullptr;
}

std::string hyper_name(const std::string& group, const std::string& key) {
  return group.empty() || key == "step" ? key : group + "." + key;
}

namespace {

std::string setting_str(const Setting& s) {
  if (const auto* flag = std::get_if<bool>(&s)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&s)) return real_str(*number);
  return std::get<std::string>(s);
}

class Planner {
 public:
  Planner(Module& module, const Function& loss, const StepOptions& options)
      : module_(module), loss_(loss), options_(options), choices_(module, loss, options) {}

  StepPlan run(const std::set<std::string>& present) {
    for (int i = 0; i < loss_.param_count(); ++i)
      if (loss_.roles[static_cast<size_t>(i)] == Role::kParam)
        param(loss_.param(i)->name, loss_.param(i)->type, present);
    whole_gradient_hypers();
    plan_.nonfinite = options_.nonfinite.value_or(default_policy());
    return std::move(plan_);
  }

 private:
  Nonfinite default_policy() const {
    bool held = options_.clip_norm || options_.accumulation || !options_.inline_step;
    return held ? Nonfinite::kSkip : Nonfinite::kCheckLoss;
  }

  void param(const std::string& name, const Type& type, const std::set<std::string>& present) {
    const Choice& choice = choices_.of(name);
    ParamPlan out;
    out.name = name;
    out.type = type;
    out.group = choice.group != nullptr ? choice.group->name : "";
    out.optimizer = choice.optimizer;
    out.frozen = choice.frozen;
    out.absent = !choice.frozen && present.count(name) == 0;
    out.undecayed = choice.undecayed;
    if (!out.frozen && !out.absent) update(out, choice);
    plan_.params.push_back(std::move(out));
  }

  void update(ParamPlan& out, const Choice& choice) {
    const OptimizerDef& def = choices_.optimizer(choice);
    std::set<std::string> fixed;
    if (choice.undecayed) fixed.insert("weight_decay");
    Instance instance = instantiate(def, out.type, out.name, choice.settings, fixed);
    std::map<std::string, Range> ranges;
    for (const std::string& key : instance.hypers) {
      ranges[key] = def.range(key);
      hyper(out.group, key, def, choice);
    }
    out.update_class = classify(*instance.update);
    out.keeps_under_zero = keeps_under_zero_gradient(*instance.update, ranges);
    for (const StateSpec& s : instance.states) {
      std::string full = "opt." + out.name + "." + s.name;
      out.states.push_back(full);
      plan_.states.push_back({full, out.name, s.type, s.fill, s.copies_weight});
    }
    if (options_.ema_decay)
      plan_.states.push_back({"ema." + out.name, out.name, out.type, 0, true});
    if (options_.accumulation)
      plan_.accumulators.push_back({"acc." + out.name, out.name, out.type});
    plan_.updated.push_back(out.name);
    out.update = shared_function(choice, out.type, fixed, std::move(instance.update));
  }

  // Weights of one type and one choice share a function.
  std::string shared_function(const Choice& choice, const Type& type,
                              const std::set<std::string>& fixed, std::unique_ptr<Function> f) {
    std::string key = choice.optimizer + " " + type.str() + (fixed.empty() ? "" : " fixed");
    for (const auto& [name, value] : choice.settings) key += " " + name + "=" + setting_str(value);
    auto [entry, fresh] = functions_.emplace(key, "");
    if (fresh) {
      std::string name = f->name + "." + std::string(dtype_name(type.dtype));
      for (const Dim& d : type.shape)
        name += "_" + (d.is_constant() ? std::to_string(d.constant()) : std::string("n"));
      entry->second = f->name = module_.fresh_name(name);
      module_.functions.push_back(std::move(f));
    }
    return entry->second;
  }

  void hyper(const std::string& group, const std::string& key, const OptimizerDef& def,
             const Choice& choice) {
    double initial = key == "step" ? 1 : hyper_values(def, choice.settings, choice.loc).at(key);
    Range range = def.range(key);
    if (key == "step") range.low = 1;
    add_hyper({hyper_name(group, key), key == "step" ? "" : group, key, initial, range});
  }

  void add_hyper(HyperPlan hyper) {
    bool known = std::any_of(plan_.hypers.begin(), plan_.hypers.end(),
                             [&](const HyperPlan& h) { return h.name == hyper.name; });
    if (!known) plan_.hypers.push_back(std::move(hyper));
  }

  void whole_gradient_hypers() {
    Range positive;
    positive.low = 0;
    if (options_.clip_norm)
      add_hyper({"clip_norm", "", "clip_norm", *options_.clip_norm, positive});
    if (options_.clip_value)
      add_hyper({"clip_value", "", "clip_value", *options_.clip_value, positive});
    if (options_.ema_decay)
      add_hyper({"ema_decay", "", "ema_decay", *options_.ema_decay, {0, 1, false, true}});
    if (!options_.accumulation) return;
    plan_.accumulators.push_back({"acc.sum", "", Type(DType::kF64, {})});
    plan_.accumulators.push_back({"acc.weight", "", Type(DType::kF64, {})});
  }

  Module& module_;
  const Function& loss_;
  const StepOptions& options_;
  Choices choices_;
  StepPlan plan_;
  std::map<std::string, std::string> functions_;
};

}  // namespace

StepPlan plan_updates(Module& module, const Function& loss, const StepOptions& options,
                      const std::set<std::string>& present) {
  return Planner(module, loss, options).run(present);
}

}  // namespace tapeless::optim
