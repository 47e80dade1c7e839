#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "tapeless/compiler/training.h"
#include "tapeless/nn/model.h"
#include "tapeless/train/entry_call.h"

namespace tapeless {

/// What a session is compiled from.
struct SessionSpec {
  nn::Model model;
  optim::StepOptions optimizer;
  TrainingChoices choices;
  CompileOptions compile;
  uint64_t seed = 0;
  /// Compile no steps, only evaluation and prediction.
  bool evaluation_only = false;
  /// Factor on every learning rate before update number `step` (from 1); empty: 1.
  std::function<double(int64_t step)> schedule;
};

struct StepOutcome {
  double loss = 0;  // mean over the weight
  double weight = 0;
  double correct = 0;
  double lr = 0;
  std::optional<double> grad_norm;
  /// The update was left out: a value was not finite.
  bool skipped = false;
  /// Which value: `loss` or the parameter whose gradient it is; empty where all are finite.
  std::string nonfinite = {};
};

/// A compiled model with its state: everything that a step needs, without data or files. Training,
/// evaluation and prediction run on the same buffers.
class Session {
 public:
  explicit Session(SessionSpec spec);

  /// One update from one batch. Throws a DataError that names the tensor where a value is not
  /// finite and the policy is not to skip; by then nothing is spoiled but under `check_loss`.
  StepOutcome step(const std::vector<Tensor>& inputs);
  /// The same with the times of its kernels; for profiles, only where the update is inlined.
  std::vector<Call::StepTime> step_timed(const std::vector<Tensor>& inputs);
  /// The same from several batches: add each, then update once, divided by the total weight.
  void accumulate(const std::vector<Tensor>& inputs);
  StepOutcome update();

  /// Whether a parameter has an average, which evaluation then uses.
  bool averages() const { return averages_; }
  EntryCall entry(const std::string& name, bool averaged = false) const {
    return EntryCall(executable_, name, state_, averaged);
  }
  bool has(std::string_view name) const { return executable_->has(name); }

  const State& state() const { return state_; }
  State& state() { return state_; }
  const optim::StepPlan& plan() const { return plan_; }
  const Executable& executable() const { return *executable_; }
  /// What was compiled.
  const Module& module() const { return module_; }
  int64_t arena_bytes() const;

  /// Updates done. Keys and schedules follow from it.
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }
  /// Batches added since the last update; a part of what decides the next bits.
  int64_t accumulated() const { return accumulated_; }
  int64_t skipped() const { return skipped_; }
  void set_skipped(int64_t skipped) { skipped_ = skipped; }

 private:
  void initialise(uint64_t seed);
  double set_hypers(EntryCall& call) const;
  uint64_t batch_key() const;
  /// Whether this update was left out.
  std::string spoiled_parameter() const;
  std::string check_finite(const EntryCall& call, double grad_norm);
  StepOutcome finish(StepOutcome outcome, EntryCall& call);

  uint64_t seed_;
  std::function<double(int64_t)> schedule_;
  std::shared_ptr<const Executable> executable_;
  Module module_;
  optim::StepPlan plan_;
  State state_;
  bool averages_ = false;
  std::optional<EntryCall> train_step_, grad_step_, update_, accumulate_, update_accumulated_;
  int64_t steps_ = 0, accumulated_ = 0, skipped_ = 0;
  double correct_ = 0;  // of the batches added since the last update
};

}  // namespace tapeless
