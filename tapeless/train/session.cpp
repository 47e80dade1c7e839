// One compiled model, its state, and the steps over it.
#include "tapeless/train/session.h"

#include <algorithm>
#include <cmath>

#include "tapeless/runtime/philox.h"
#include "tapeless/support/diagnostics.h"

namespace tapeless {

namespace {

// Streams of keys under the seed.
constexpr uint64_t kInitStream = 0, kStepStream = 1;

std::optional<EntryCall> call_if(const std::shared_ptr<const Executable>& executable,
                                 const std::string& entry, const State& state) {
  if (!executable->has(entry)) return std::nullopt;
  return EntryCall(executable, entry, state);
}

bool changes_parameters(const std::string& entry) {
  return !entry.starts_with("init") && entry != "eval_step" && entry != "infer";
}

double metric(const EntryCall& call, std::string_view name) {
  return call.has_result(name) ? call.scalar(name) : 0;
}

}  // namespace

Session::Session(SessionSpec spec) : seed_(spec.seed), schedule_(std::move(spec.schedule)) {
  averages_ = spec.optimizer.ema_decay.has_value();
  const nn::Model& model = spec.model;
  TrainingModule program = build_training_module(
      model.module, {.loss = model.loss, .predict = model.predict, .init = model.init},
      spec.optimizer, spec.choices);
  module_ = std::move(program.module);
  plan_ = std::move(program.plan);
  for (std::string& entry : program.entries)
    if (!spec.evaluation_only || !changes_parameters(entry))
      spec.compile.entries.push_back(std::move(entry));
  executable_ = compile(module_, spec.compile);
  initialise(spec.seed);
  train_step_ = call_if(executable_, "train_step", state_);
  grad_step_ = call_if(executable_, "grad_step", state_);
  update_ = call_if(executable_, "update", state_);
  accumulate_ = call_if(executable_, "accumulate", state_);
  update_accumulated_ = call_if(executable_, "update_accumulated", state_);
}

void Session::initialise(uint64_t seed) {
  Tensor key(DType::kKey, {});
  key.set_int(0, static_cast<int64_t>(philox_fold_in(seed, kInitStream)));
  std::vector<Tensor> values = executable_->run("init", {key});
  const std::vector<Slot>& slots = executable_->results("init");
  for (size_t i = 0; i < slots.size(); ++i) state_.add_model(slots[i].name, values[i]);
  for (const auto* states : {&plan_.states, &plan_.accumulators})
    for (const optim::StatePlan& s : *states)
      state_.add_optimizer(s.name, Tensor(s.type.dtype, eval_shape(s.type.shape, {})));
  if (has("init_optimizer")) entry("init_optimizer").run();
}

// Sets the learning rate by the schedule, the count of updates made, and all others as they began;
// an average looks back no further than the run does. Returns the rate of parameters in no group.
double Session::set_hypers(EntryCall& call) const {
  double rate = 0;
  for (const optim::HyperPlan& hyper : plan_.hypers) {
    double value = hyper.initial;
    if (hyper.key == "step") value = static_cast<double>(steps_ - skipped_ + 1);
    if (hyper.key == "lr" && schedule_) value *= schedule_(steps_ + 1);
    if (hyper.key == "ema_decay")
      value = std::min(value, static_cast<double>(1 + steps_) / static_cast<double>(10 + steps_));
    if (hyper.name == "lr") rate = value;
    call.set_hyper(hyper.name, value);
  }
  return rate;
}

// Every batch of a run has bits of its own: they follow from the update and the place in it.
uint64_t Session::batch_key() const {
  uint64_t key = philox_fold_in(philox_fold_in(seed_, kStepStream), static_cast<uint64_t>(steps_));
  return philox_fold_in(key, static_cast<uint64_t>(accumulated_));
}

// The first parameter with an element that is not finite, or empty.
std::string Session::spoiled_parameter() const {
  for (const std::string& name : plan_.updated) {
    const Tensor& t = state_.get(name);
    for (int64_t i = 0, n = t.numel(); i < n; ++i)
      if (!std::isfinite(t.get(i))) return name;
  }
  return {};
}

// The name of the value that is not finite, or empty. A DataError where the policy is not to skip.
std::string Session::check_finite(const EntryCall& call, double grad_norm) {
  if (!call.has_result("nonfinite")) return {};
  auto which = static_cast<int64_t>(call.scalar("nonfinite"));
  bool bad_gradient = which == optim::kAllFinite && !std::isfinite(grad_norm) &&
                      plan_.nonfinite == optim::Nonfinite::kCheckLoss;
  if (which == optim::kAllFinite && !bad_gradient) return {};
  if (plan_.nonfinite == optim::Nonfinite::kSkip) {
    ++skipped_;
    return which == optim::kBadLoss ? "loss" : plan_.updated.at(static_cast<size_t>(which));
  }
  // Updates are not held back for a test of the gradients: a bad one is found in its parameter.
  std::string spoiled = spoiled_parameter();
  if (which == optim::kBadLoss && spoiled.empty())
    data_error("step {}: the loss is not finite; the parameters are those before the step",
               steps_ + 1);
  data_error(
      "step {}: the {} of {} is not finite; go on from the last checkpoint with a lower learning "
      "rate or nonfinite = \"skip\"",
      steps_ + 1, bad_gradient ? "gradient" : "value", spoiled.empty() ? "a parameter" : spoiled);
}

// What all forms of an update have in common, once it is done.
StepOutcome Session::finish(StepOutcome outcome, EntryCall& call) {
  if (call.has_result("grad_norm")) outcome.grad_norm = call.scalar("grad_norm");
  outcome.nonfinite = check_finite(call, outcome.grad_norm.value_or(0));
  outcome.skipped = !outcome.nonfinite.empty();
  accumulated_ = 0;
  correct_ = 0;
  ++steps_;
  return outcome;
}

StepOutcome Session::step(const std::vector<Tensor>& inputs) {
  if (!train_step_ && !grad_step_) {
    accumulate(inputs);
    return update();
  }
  EntryCall& gradient = train_step_ ? *train_step_ : *grad_step_;
  gradient.set_inputs(inputs);
  gradient.set_key(batch_key());
  StepOutcome outcome;
  outcome.lr = set_hypers(gradient);
  gradient.run();
  outcome.weight = gradient.scalar("weight");
  outcome.loss = gradient.scalar("loss");
  outcome.correct = metric(gradient, "correct");
  if (train_step_) return finish(outcome, gradient);
  for (const std::string& name : update_->input_names())
    update_->set_input(name, gradient.result(name));
  outcome.lr = set_hypers(*update_);
  update_->run();
  return finish(outcome, *update_);
}

std::vector<Call::StepTime> Session::step_timed(const std::vector<Tensor>& inputs) {
  if (!train_step_) data_error("a profile is of the inlined step: set optimizer.update = inline");
  train_step_->set_inputs(inputs);
  train_step_->set_key(batch_key());
  set_hypers(*train_step_);
  std::vector<Call::StepTime> times = train_step_->run_timed();
  finish({}, *train_step_);
  return times;
}

void Session::accumulate(const std::vector<Tensor>& inputs) {
  TL_CHECK(accumulate_.has_value(), "compiled without accumulation");
  accumulate_->set_inputs(inputs);
  accumulate_->set_key(batch_key());
  set_hypers(*accumulate_);
  accumulate_->run();
  correct_ += metric(*accumulate_, "correct");
  ++accumulated_;
}

StepOutcome Session::update() {
  TL_CHECK(update_accumulated_.has_value(), "compiled without accumulation");
  StepOutcome outcome;
  outcome.lr = set_hypers(*update_accumulated_);
  update_accumulated_->run();
  outcome.weight = update_accumulated_->scalar("weight");
  outcome.loss = update_accumulated_->scalar("loss");
  outcome.correct = correct_;
  return finish(outcome, *update_accumulated_);
}

int64_t Session::arena_bytes() const {
  int64_t bytes = 0;
  for (const auto* call : {&train_step_, &grad_step_, &update_, &accumulate_, &update_accumulated_})
    if (*call) bytes += (*call)->arena_bytes();
  return bytes;
}

}  // namespace tapeless
