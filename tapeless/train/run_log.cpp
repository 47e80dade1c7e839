// One event to every place that keeps or shows it.
#include "tapeless/train/run_log.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "tapeless/train/metrics.h"
#include "tapeless/train/progress.h"
#include "tapeless/train/tensorboard.h"

namespace tapeless {

using Clock = std::chrono::steady_clock;

void EpochTotals::add(const StepOutcome& outcome, int64_t step_rows) {
  rows += step_rows;
  if (outcome.skipped) return;
  loss += outcome.loss * outcome.weight;
  weight += outcome.weight;
  correct += outcome.correct;
}

struct RunLog::Sinks {
  std::string out, json, items;
  bool show = false;
  int64_t epochs = 0;
  std::optional<MetricsWriter> file, stream;
  std::optional<TensorBoardWriter> board;
  std::optional<Progress> progress;
  Clock::time_point begun, stepped;
  bool told_compile = false;

  template <class Event>
  void write(const Event& event) {
    if (file) file->write(event);
    if (stream) stream->write(event);
  }
  void scalar(std::string_view tag, int64_t step, double value) {
    if (board && std::isfinite(value)) board->scalar(tag, step, value);
  }
};

RunLog::RunLog(const Recipe& recipe, const TrainerOptions& options)
    : sinks_(std::make_unique<Sinks>()) {
  sinks_->out = options.out;
  sinks_->json = options.json;
  sinks_->items = recipe.data.kind == "idx" ? "images" : "rows";
  sinks_->show = options.progress;
  sinks_->epochs = recipe.train.epochs;
}

RunLog::~RunLog() = default;

// Told with the first step: only then are the sizes at hand for which the arena is planned.
static CompileEvent compile_event(const Session& session) {
  const CompileReport& report = session.executable().report();
  return {.seconds = report.seconds,
          .kernels = report.kernels,
          .cached = report.kernels_cached,
          .arena_bytes = session.arena_bytes()};
}

void RunLog::begin(const Session& session, int64_t total_steps) {
  Sinks& s = *sinks_;
  if (!s.out.empty()) {
    std::string path = s.out + "/metrics.jsonl";
    s.file.emplace(path, session.steps());
    s.board.emplace(s.out);
  }
  if (!s.json.empty()) s.stream.emplace(s.json);
  if (s.show) s.progress.emplace(stderr, session.steps(), total_steps, s.epochs, s.items);
  const CompileReport& report = session.executable().report();
  if (s.progress)
    s.progress->line(fmt::format("compiled {} kernels in {:.2f} s ({} from the cache)",
                                 report.kernels, report.seconds, report.kernels_cached));
  s.begun = s.stepped = Clock::now();
}

void RunLog::step(const Session& session, int64_t epoch, const StepOutcome& outcome, int64_t rows) {
  Sinks& s = *sinks_;
  auto now = Clock::now();
  double seconds = std::chrono::duration<double>(now - s.stepped).count();
  s.stepped = now;
  if (!s.told_compile) s.write(compile_event(session));
  s.told_compile = true;
  StepEvent event{.step = session.steps(),
                  .epoch = epoch + 1,
                  .loss = outcome.loss,
                  .lr = outcome.lr,
                  .items_per_s = static_cast<double>(rows) / std::max(seconds, 1e-9),
                  .grad_norm = outcome.grad_norm.value_or(kAbsent),
                  .skipped = session.skipped(),
                  .nonfinite = outcome.nonfinite};
  s.write(event);
  s.scalar("train/loss", event.step, event.loss);
  s.scalar("train/lr", event.step, event.lr);
  s.scalar("train/grad_norm", event.step, event.grad_norm);
  if (!s.progress) return;
  s.progress->step(event.step, epoch, event.loss, rows);
  if (outcome.skipped)
    s.progress->line(fmt::format(
        "step {} skipped ({} so far): {} is not finite", event.step, event.skipped,
        outcome.nonfinite == "loss" ? "the loss" : "the gradient of " + outcome.nonfinite));
}

void RunLog::before_evaluation() {
  if (sinks_->progress) sinks_->progress->pause();
}

void RunLog::evaluation(int64_t step, int64_t epoch, const std::string& split,
                        const Evaluation& result, const EpochTotals& train) {
  Sinks& s = *sinks_;
  s.write(EvalEvent{.split = split,
                    .step = step,
                    .epoch = epoch,
                    .loss = result.loss,
                    .accuracy = result.accuracy,
                    .seconds = result.seconds});
  s.scalar(split + "/loss", step, result.loss);
  s.scalar(split + "/accuracy", step, result.accuracy);
  if (s.progress) {
    double mean = train.weight > 0 ? train.loss / train.weight : 0;
    std::string accuracy = std::isnan(result.accuracy)
                               ? ""
                               : fmt::format("  accuracy {:.2f} %", 100 * result.accuracy);
    s.progress->line(fmt::format("epoch {}/{}  train loss {:.4f}  {} loss {:.4f}{}", epoch,
                                 s.epochs, mean, split, result.loss, accuracy));
    s.progress->resume();
  }
  s.stepped = Clock::now();
}

void RunLog::done(const TrainResult& result) {
  Sinks& s = *sinks_;
  s.write(DoneEvent{.reason = result.interrupted         ? "interrupted"
                              : result.stopped_early     ? "early_stop"
                              : result.epochs < s.epochs ? "max_steps"
                                                         : "finished",
                    .step = result.steps,
                    .epoch = result.epochs,
                    .seconds = std::chrono::duration<double>(Clock::now() - s.begun).count(),
                    .loss = result.test.loss,
                    .accuracy = result.test.accuracy});
  if (s.progress && !std::isnan(result.test.loss))
    s.progress->line(fmt::format("test loss {:.4f}  accuracy {:.2f} %", result.test.loss,
                                 100 * result.test.accuracy));
  s.progress.reset();
  if (s.board) s.board->flush();
}

}  // namespace tapeless
