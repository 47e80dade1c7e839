#pragma once

#include <memory>

#include "tapeless/train/evaluate.h"
#include "tapeless/train/recipe.h"
#include "tapeless/train/session.h"
#include "tapeless/train/trainer.h"

namespace tapeless {

/// Sums of an epoch so far.
struct EpochTotals {
  double loss = 0, weight = 0, correct = 0;
  int64_t rows = 0;

  void add(const StepOutcome& outcome, int64_t step_rows);
};

/// Where a run tells what happens: metrics.jsonl, TensorBoard events, JSON lines, the terminal.
class RunLog {
 public:
  RunLog(const Recipe& recipe, const TrainerOptions& options);
  ~RunLog();

  /// Before the first step of this process; lines of an earlier one after `session.steps()` go.
  void begin(const Session& session, int64_t total_steps);
  /// One update, over `rows` rows, after `epoch` whole epochs.
  void step(const Session& session, int64_t epoch, const StepOutcome& outcome, int64_t rows);
  void before_evaluation();
  void evaluation(int64_t step, int64_t epoch, const std::string& split, const Evaluation& result,
                  const EpochTotals& train);
  void done(const TrainResult& result);

 private:
  struct Sinks;
  std::unique_ptr<Sinks> sinks_;
};

}  // namespace tapeless
