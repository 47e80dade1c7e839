// The step builder: forward and backward of the loss, whole-gradient transforms, one update a
// parameter, in one function (train_step) or two (grad_step and update).
//
//   func @loss.vjp(%x: f32[B, 4] input, %w: f32[4] param, %d.0: f32[] input)
//       -> (f32[], f32[], grad.w: f32[4])
// becomes, with sgd,
//   func @train_step(%x: f32[B, 4] input, %w: f32[4] param, %lr: f64[] hyper)
//       -> (loss: f32[], weight: f32[], nonfinite: i64[], %w: f32[4]) {
//     ...forward; %seed = 1 / weight; backward...
//     %new = call @sgd.f32_4 %w, %grad, %lr
//     %kept = where %ok, %new, %w
//     ...
//   }
#include "tapeless/optim/attach.h"

#include <map>

#include "tapeless/ir/clone.h"
#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"
#include "tapeless/optim/loss_parts.h"
#include "tapeless/optim/plan_updates.h"
#include "tapeless/optim/transforms.h"

namespace tapeless::optim {

namespace {

using Gradients = std::map<std::string, Value*>;

// One function under construction.
class StepFunction {
 public:
  StepFunction(Module& module, const StepPlan& plan, const StepOptions& options, std::string name)
      : plan_(plan),
        options_(options),
        f_(*module.add(std::move(name))),
        b_(f_, &module),
        module_(module) {
    b_.set_loc(options.loc);
  }

  Builder& builder() { return b_; }
  Function& function() { return f_; }

  // The loss function's parameters, in its order.
  void add_loss_params(const Function& loss) {
    for (int i = 0; i < loss.param_count(); ++i)
      param(loss.param(i)->name, loss.param(i)->type, loss.roles[static_cast<size_t>(i)]);
    f_.bounds = loss.bounds;
  }

  Value* param(const std::string& name, const Type& type, Role role) {
    if (Value* known = f_.find_param(name)) return known;
    return f_.add_param(name, type, role);
  }

  void add_states(const std::vector<StatePlan>& states) {
    for (const StatePlan& s : states) param(s.name, s.type, Role::kState);
  }

  Value* hyper(const std::string& name) { return param(name, Type(DType::kF64, {}), Role::kHyper); }

  Value* find(const std::string& name) const {
    Value* v = f_.find_param(name);
    TL_CHECK(v != nullptr, "no parameter %{}", name);
    return v;
  }

  // The new value of parameter `name`; the old one where `ok` is false.
  void renew(const std::string& name, Value* value, Value* ok) {
    if (ok != nullptr) value = b_.make(kWhereOp, {ok, value, find(name)});
    f_.add_result(value, "%" + name);
  }

  // Result `nonfinite`, and whether to go on (null: always). A gradient is finite where its witness
  // is; `loss` may be null.
  Value* test_finite(Value* loss, const std::vector<Value*>& witnesses) {
    if (plan_.nonfinite == Nonfinite::kOff) return nullptr;
    Value* position = integer(kAllFinite);
    Value* good = nullptr;
    bool gradients = plan_.nonfinite == Nonfinite::kSkip;
    for (size_t i = gradients ? witnesses.size() : 0; i-- > 0;)
      good = test(witnesses[i], static_cast<int64_t>(i), position, good);
    if (loss != nullptr) good = test(loss, kBadLoss, position, good);
    f_.add_result(position, "nonfinite");
    return good;
  }

  // Clips, reports the norm, and gives every parameter its new value.
  void update(Value* loss, const Gradients& gradients) {
    std::vector<Value*> list = in_order(gradients);
    std::vector<Value*> witnesses = list;
    Value* norm = nullptr;
    if (options_.clip_norm || options_.report_grad_norm) {
      Norm computed = global_norm(b_, list);
      norm = computed.norm;
      witnesses = std::move(computed.witnesses);
      f_.add_result(norm, "grad_norm");
    }
    ok_ = test_finite(loss, witnesses);
    if (options_.clip_value) list = clip_by_value(b_, list, hyper("clip_value"));
    if (options_.clip_norm) {
      // Values clipped before have another norm.
      Value* limited = options_.clip_value ? global_norm(b_, list).norm : norm;
      list = clip_by_norm(b_, list, limited, hyper("clip_norm"));
    }
    for (size_t i = 0; i < list.size(); ++i)
      update_param(*plan_.find(plan_.updated[i]), list[i], ok_);
  }

  std::vector<Value*> in_order(const Gradients& gradients) const {
    std::vector<Value*> list;
    for (const std::string& name : plan_.updated) list.push_back(gradients.at(name));
    return list;
  }

  Value* ok() const { return ok_; }

 private:
  Value* integer(int64_t value) {
    return build::constant(b_, DType::kI64, static_cast<double>(value));
  }

  // Adds one test: `position` becomes `code` where x is not finite.
  Value* test(Value* x, int64_t code, Value*& position, Value* good) {
    Value* finite = all_finite(b_, x);
    position = b_.make(kWhereOp, {finite, position, integer(code)});
    return good == nullptr ? finite : b_.make(kLogicalAndOp, {good, finite});
  }

  void update_param(const ParamPlan& p, Value* gradient, Value* ok) {
    const Function& f = *module_.get(p.update);
    std::vector<Value*> arguments = {find(p.name), gradient};
    for (const std::string& s : p.states) arguments.push_back(find(s));
    for (int i = static_cast<int>(arguments.size()); i < f.param_count(); ++i)
      arguments.push_back(hyper(hyper_name(p.group, f.param(i)->name)));
    std::vector<Value*> values = build::call(b_, p.update, arguments);
    renew(p.name, values[0], ok);
    for (size_t i = 0; i < p.states.size(); ++i) renew(p.states[i], values[i + 1], ok);
    if (options_.ema_decay) average(p, values[0], ok);
  }

  // e + (1 - decay) (w - e)
  void average(const ParamPlan& p, Value* weight, Value* ok) {
    Value* old = find("ema." + p.name);
    Value* one = build::constant(b_, DType::kF64, 1);
    Value* rate = b_.make(kSubOp, {one, hyper("ema_decay")});
    Value* step =
        build::mul(b_, build::cast(b_, rate, p.type.dtype), b_.make(kSubOp, {weight, old}));
    renew("ema." + p.name, build::add(b_, old, step), ok);
  }

  const StepPlan& plan_;
  const StepOptions& options_;
  Function& f_;
  Builder b_;
  Module& module_;
  Value* ok_ = nullptr;
};

class Attacher {
 public:
  Attacher(Module& module, const StepOptions& options)
      : module_(module),
        options_(options),
        loss_(*module.get(options.loss, options.loc)),
        vjp_(*module.get(options.loss + ".vjp", options.loc)) {}

  StepPlan run() {
    std::set<std::string> present;
    for (const std::string& name : vjp_.result_names)
      if (name.starts_with("grad.")) present.insert(name.substr(5));
    plan_ = plan_updates(module_, loss_, options_, present);
    if (options_.inline_step) train_step();
    if (options_.separate_step) {
      grad_step();
      update();
    }
    if (options_.accumulation) {
      accumulate();
      update_accumulated();
    }
    init();
    return std::move(plan_);
  }

 private:
  StepFunction begin(const std::string& name) { return {module_, plan_, options_, name}; }

  // Hypers that any update reads are parameters in the plan's order, before the body asks for them.
  void add_hypers(StepFunction& s) {
    for (const HyperPlan& h : plan_.hypers) s.hyper(h.name);
  }

  void add_weights(StepFunction& s) {
    for (const std::string& name : plan_.updated)
      s.param(name, plan_.find(name)->type, Role::kParam);
  }

  // Loss, weight and metrics as results.
  static void report(StepFunction& s, const LossParts& parts) {
    s.function().add_result(parts.loss, "loss");
    s.function().add_result(parts.weight, "weight");
    for (const auto& [name, value] : parts.metrics) s.function().add_result(value, name);
  }

  static void renew_model_state(StepFunction& s, const LossParts& parts, Value* ok) {
    for (const auto& [name, value] : parts.states) s.renew(name, value, ok);
  }

  void train_step() {
    StepFunction s = begin("train_step");
    s.add_loss_params(loss_);
    s.add_states(plan_.states);
    add_hypers(s);
    LossParts parts = differentiate_loss(s.builder(), loss_, vjp_, Seed::kMean);
    report(s, parts);
    s.update(parts.loss, parts.gradients);
    renew_model_state(s, parts, s.ok());
  }

  void grad_step() {
    StepFunction s = begin("grad_step");
    s.add_loss_params(loss_);
    LossParts parts = differentiate_loss(s.builder(), loss_, vjp_, Seed::kMean);
    report(s, parts);
    Value* ok =
        parts.states.empty() ? nullptr : s.test_finite(parts.loss, s.in_order(parts.gradients));
    for (const std::string& name : plan_.updated)
      s.function().add_result(parts.gradients.at(name), "grad." + name);
    renew_model_state(s, parts, ok);
  }

  // `loss` is read by the finite tests alone.
  void update() {
    StepFunction s = begin("update");
    add_weights(s);
    Gradients gradients;
    for (const std::string& name : plan_.updated)
      gradients[name] = s.param("grad." + name, plan_.find(name)->type, Role::kInput);
    bool tested = plan_.nonfinite != Nonfinite::kOff;
    Value* loss = tested ? s.param("loss", loss_type(loss_), Role::kInput) : nullptr;
    s.add_states(plan_.states);
    add_hypers(s);
    s.update(loss, gradients);
  }

  void accumulate() {
    StepFunction s = begin("accumulate");
    s.add_loss_params(loss_);
    s.add_states(plan_.accumulators);
    Builder& b = s.builder();
    LossParts parts = differentiate_loss(b, loss_, vjp_, Seed::kSum);
    report(s, parts);
    for (const std::string& name : plan_.updated) {
      std::string acc = "acc." + name;
      s.renew(acc, build::add(b, s.find(acc), parts.gradients.at(name)), nullptr);
    }
    for (auto [name, value] : {std::pair("acc.sum", parts.sum), {"acc.weight", parts.weight}})
      s.renew(name, build::add(b, s.find(name), build::cast(b, value, DType::kF64)), nullptr);
    renew_model_state(s, parts, nullptr);
  }

  void update_accumulated() {
    StepFunction s = begin("update_accumulated");
    add_weights(s);
    s.add_states(plan_.accumulators);
    s.add_states(plan_.states);
    add_hypers(s);
    Builder& b = s.builder();
    Value* total = s.find("acc.weight");
    Value* divisor = nonzero(b, total);
    Gradients gradients;
    for (const std::string& name : plan_.updated) {
      Value* sum = s.find("acc." + name);
      gradients[name] = b.make(kDivOp, {sum, build::cast(b, divisor, sum->type.dtype)});
    }
    Value* loss = b.make(kDivOp, {s.find("acc.sum"), divisor});
    s.function().add_result(loss, "loss");
    // A value of its own, for the accumulator is cleared in place.
    s.function().add_result(build::add(b, total, build::constant_like(b, total, 0)), "weight");
    s.update(loss, gradients);
    for (const StatePlan& a : plan_.accumulators)
      s.renew(a.name, build::full_like(b, s.find(a.name), 0), nullptr);
  }

  void init() {
    if (plan_.states.empty()) return;
    StepFunction s = begin("init_optimizer");
    add_weights(s);
    s.add_states(plan_.states);
    for (const StatePlan& state : plan_.states) {
      Value* start = state.copies_weight
                         ? s.find(state.param)
                         : build::full_like(s.builder(), s.find(state.name), state.fill);
      s.renew(state.name, start, nullptr);
    }
  }

  Module& module_;
  const StepOptions& options_;
  const Function& loss_;
  const Function& vjp_;
  StepPlan plan_;
};

}  // namespace

std::vector<std::string> trainable(const Module& module, const StepOptions& options) {
  const Function& loss = *module.get(options.loss, options.loc);
  Choices choices(module, loss, options);
  std::vector<std::string> names;
  for (int i = 0; i < loss.param_count(); ++i) {
    const Value* p = loss.param(i);
    if (loss.roles[static_cast<size_t>(i)] == Role::kParam && !choices.of(p->name).frozen &&
        is_float(p->type.dtype))
      names.push_back(p->name);
  }
  return names;
}

Stepped attach(const Module& module, const StepOptions& options) {
  Stepped out{clone(module), {}};
  out.plan = Attacher(out.module, options).run();
  out.module.stage = Stage::kStepped;
  return out;
}

}  // namespace tapeless::optim
