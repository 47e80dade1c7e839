#pragma once

#include <memory>
#include <string>

#include "tapeless/train/build.h"
#include "tapeless/train/evaluate.h"
#include "tapeless/train/session.h"

namespace tapeless {

struct TrainerOptions {
  /// Threads of a step; 0: all processors.
  int threads = 0;
  std::string cpu = "native";
  bool disk_cache = true;
  /// The run folder: metrics, report and checkpoints. Empty: no file is written.
  std::string out;
  /// JSON lines of all events: a file, `-` for the standard output, or empty.
  std::string json;
  /// Show a progress bar and a line an epoch on the terminal.
  bool progress = false;
  /// The first Ctrl-C finishes the step and saves.
  bool handle_interrupt = false;
};

CompileOptions compile_options(const TrainerOptions& options);

struct TrainResult {
  int64_t epochs = 0;  // finished
  int64_t steps = 0;
  int64_t skipped = 0;  // steps left out because a value was not finite
  Evaluation test;
  double best_loss = 0;
  bool interrupted = false;
  bool stopped_early = false;
};

/// Trains what a recipe describes: data, model, compiled program, loop, files.
class Trainer {
 public:
  explicit Trainer(const Recipe& recipe, const TrainerOptions& options = {});
  /// With a network built in C++ in place of the recipe's [model].
  Trainer(const Recipe& recipe, const nn::NetFunction& net, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;

  TrainResult train();
  /// The loss and accuracy over the test rows, with averaged parameters where the recipe has them.
  Evaluation evaluate();
  Answers classify();

  /// Writes a checkpoint folder.
  void save(const std::string& folder);
  /// Goes on from the last checkpoint of a run folder: the bits are those of an uninterrupted run.
  void resume(const std::string& run_folder);

  const Session& session() const;
  const TrainingData& data() const;

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

/// The model of a recipe with trained parameters, for evaluation and prediction alone.
class Predictor {
 public:
  /// `from` is a run folder (its best checkpoint, else its last) or a checkpoint.
  Predictor(const Recipe& recipe, const std::string& from, const TrainerOptions& options = {});

  Evaluation evaluate(std::shared_ptr<const Dataset> data);
  Answers classify(std::shared_ptr<const Dataset> data);
  const TrainingData& data() const { return data_; }
  int64_t epoch() const { return epoch_; }

 private:
  TrainingData data_;
  std::unique_ptr<Session> session_;
  int64_t batch_ = 256;
  int64_t epoch_ = 0;
};

}  // namespace tapeless
