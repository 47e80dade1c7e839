// The loop: epochs of steps, an evaluation each, checkpoints, early stop, interrupts.
#include "tapeless/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "tapeless/data/loader.h"
#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"
#include "tapeless/train/checkpoint.h"
#include "tapeless/train/checks.h"
#include "tapeless/train/interrupt.h"
#include "tapeless/train/run_log.h"
#include "tapeless/train/run_report.h"

namespace tapeless {

namespace {

LoaderOptions loader_options(const Recipe& recipe) {
  return {.batch = recipe.train.batch,
          .shuffle = recipe.data.shuffle,
          .seed = recipe.train.seed,
          .last_batch = recipe.data.last_batch == "drop" ? LastBatch::kDrop : LastBatch::kKeep};
}

// Optimizer updates of one epoch.
int64_t updates_per_epoch(const Recipe& recipe, const Loader& loader) {
  return (loader.batches_per_epoch() + recipe.train.accumulate - 1) / recipe.train.accumulate;
}

int64_t last_rows(const Recipe& recipe, const Dataset& data) {
  return recipe.data.last_batch == "drop" ? 0 : data.rows() % recipe.train.batch;
}

}  // namespace

CompileOptions compile_options(const TrainerOptions& options) {
  CompileOptions compile;
  compile.cpu = options.cpu;
  compile.threads =
      options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  compile.disk_cache = options.disk_cache;
  return compile;
}

struct Trainer::Run {
  Run(const Recipe& r, const nn::NetFunction& net, const TrainerOptions& o)
      : recipe(r),
        options(o),
        data(load_data(recipe)),
        loader(data.train, loader_options(recipe)),
        session(make_session(net)),
        log(recipe, options) {}

  Session make_session(const nn::NetFunction& net) {
    nn::Model model = build_model(recipe, data.input, net);
    check_batch_sizes(model.module, model.loss, recipe.train.batch, last_rows(recipe, *data.train));
    SessionSpec spec;
    spec.model = std::move(model);
    spec.optimizer = step_options(recipe);
    spec.choices = training_choices(recipe);
    spec.compile = compile_options(options);
    spec.seed = recipe.train.seed;
    spec.optimizer.report_grad_norm = !options.out.empty() || !options.json.empty();
    spec.schedule = schedule_factor(recipe, updates_per_epoch(recipe, loader));
    return Session(std::move(spec));
  }

  int64_t total_steps() const {
    int64_t steps = recipe.train.epochs * updates_per_epoch(recipe, loader);
    return recipe.train.max_steps > 0 ? std::min(steps, recipe.train.max_steps) : steps;
  }

  bool enough() const {
    return (recipe.train.max_steps > 0 && session.steps() >= recipe.train.max_steps) ||
           interrupt->interrupted();
  }

  void run_epoch();
  void record(const StepOutcome& outcome, int64_t rows);
  void end_epoch();
  bool waited_too_long() const {
    return recipe.train.early_stop > 0 && since_best >= recipe.train.early_stop;
  }
  Evaluation evaluate(const std::shared_ptr<const Dataset>& rows);
  Answers classify();
  Checkpoint checkpoint() const;
  void restore(const Checkpoint& from, const std::string& folder);
  /// Into the run folder, where there is one.
  void save(const std::string& name) const;
  void begin_folder() const;
  void report(const Evaluation& test);

  Recipe recipe;
  TrainerOptions options;
  TrainingData data;
  Loader loader;
  Session session;
  RunLog log;
  std::optional<EntryCall> eval_step;
  std::optional<InterruptGuard> interrupt;
  int64_t epoch = 0;  // finished
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t since_best = 0;
  EpochTotals totals;
};

Evaluation Trainer::Run::evaluate(const std::shared_ptr<const Dataset>& rows) {
  if (!eval_step) eval_step = session.entry("eval_step", session.averages());
  return tapeless::evaluate(*eval_step, rows, recipe.eval.batch);
}

Answers Trainer::Run::classify() {
  EntryCall infer = session.entry("infer", session.averages());
  return tapeless::classify(infer, data.test, recipe.eval.batch);
}

void Trainer::Run::record(const StepOutcome& outcome, int64_t rows) {
  totals.add(outcome, rows);
  log.step(session, epoch, outcome, rows);
}

// Steps until the data's epoch ends or there is a reason to stop, always after a whole update.
void Trainer::Run::run_epoch() {
  int64_t rows = 0;
  while (const Batch* batch = loader.next()) {
    rows += batch->rows;
    if (recipe.train.accumulate > 1) {
      session.accumulate(batch->tensors);
      if (session.accumulated() < recipe.train.accumulate) continue;
      record(session.update(), rows);
    } else {
      record(session.step(batch->tensors), rows);
    }
    rows = 0;
    if (enough()) return;
  }
  if (session.accumulated() > 0) record(session.update(), rows);
}

void Trainer::Run::end_epoch() {
  ++epoch;
  const auto& watched = data.validation ? data.validation : data.test;
  bool last = epoch == recipe.train.epochs || enough();
  bool better = false;
  if (last || epoch % recipe.eval.every == 0) {
    log.before_evaluation();
    Evaluation result = evaluate(watched);
    log.evaluation(session.steps(), epoch, data.validation ? "validation" : "test", result, totals);
    better = result.loss < best_loss;
    since_best = better ? 0 : since_best + 1;
    if (better) best_loss = result.loss;
  }
  totals = {};
  save("last");
  if (better) save("best");
}

Checkpoint Trainer::Run::checkpoint() const {
  Checkpoint out{.model = session.state().model(), .optimizer = session.state().optimizer()};
  out.run = {.name = recipe.name,
             .step = session.steps(),
             .epoch = epoch,
             .key = recipe.train.seed,
             .data = loader.position()};
  out.run.numbers = {{"skipped", static_cast<double>(session.skipped())},
                     {"since_best", static_cast<double>(since_best)},
                     {"epoch_loss", totals.loss},
                     {"epoch_weight", totals.weight},
                     {"epoch_correct", totals.correct},
                     {"epoch_rows", static_cast<double>(totals.rows)}};
  if (std::isfinite(best_loss)) out.run.numbers["best_loss"] = best_loss;
  return out;
}

void Trainer::Run::restore(const Checkpoint& from, const std::string& folder) {
  if (from.run.key != recipe.train.seed)
    data_error("{}: the run has seed {}, the recipe {}", folder, from.run.key, recipe.train.seed);
  session.state().assign(from.model, from.optimizer, folder);
  loader.seek(from.run.data);
  session.set_steps(from.run.step);
  epoch = from.run.epoch;
  auto number = [&](const char* name, double fallback) {
    auto found = from.run.numbers.find(name);
    return found == from.run.numbers.end() ? fallback : found->second;
  };
  session.set_skipped(static_cast<int64_t>(number("skipped", 0)));
  since_best = static_cast<int64_t>(number("since_best", 0));
  best_loss = number("best_loss", std::numeric_limits<double>::infinity());
  totals = {.loss = number("epoch_loss", 0),
            .weight = number("epoch_weight", 0),
            .correct = number("epoch_correct", 0),
            .rows = static_cast<int64_t>(number("epoch_rows", 0))};
}

void Trainer::Run::save(const std::string& name) const {
  if (!options.out.empty()) save_checkpoint(options.out + "/" + name, checkpoint());
}

void Trainer::Run::report(const Evaluation& test) {
  if (options.out.empty()) return;
  Answers answers;
  bool classifier = data.classes > 0 && session.has("infer") &&
                    session.executable().results("infer").at(0).type.rank() == 2;
  if (classifier) answers = classify();
  write_run_report(options.out, recipe, data, test, answers);
}

// Makes the run folder; keeps the recipe as it was run.
void Trainer::Run::begin_folder() const {
  if (options.out.empty()) return;
  make_folder(options.out);
  write_file(options.out + "/recipe.toml", recipe.text);
}

TrainResult Trainer::train() {
  Run& run = *run_;
  run.interrupt.emplace(run.options.handle_interrupt);
  run.begin_folder();
  run.log.begin(run.session, run.total_steps());
  TrainResult result;
  while (run.epoch < run.recipe.train.epochs && !run.enough()) {
    run.run_epoch();
    bool whole = run.loader.position().epoch > run.epoch;
    if (whole) run.end_epoch();
    if (!whole) run.save("last");
    if (result.stopped_early = run.waited_too_long(); result.stopped_early) break;
  }
  result.interrupted = run.interrupt->interrupted();
  result.epochs = run.epoch;
  result.steps = run.session.steps();
  result.skipped = run.session.skipped();
  result.best_loss = run.best_loss;
  if (!result.interrupted) result.test = run.evaluate(run.data.test);
  run.log.done(result);
  if (!result.interrupted) run.report(result.test);
  run.interrupt.reset();
  return result;
}

Trainer::Trainer(const Recipe& recipe, const TrainerOptions& options)
    : Trainer(recipe, nullptr, options) {}
Trainer::Trainer(const Recipe& recipe, const nn::NetFunction& net, const TrainerOptions& options)
    : run_(std::make_unique<Run>(recipe, net, options)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;

Evaluation Trainer::evaluate() { return run_->evaluate(run_->data.test); }
Answers Trainer::classify() { return run_->classify(); }
void Trainer::save(const std::string& folder) { save_checkpoint(folder, run_->checkpoint()); }
void Trainer::resume(const std::string& run_folder) {
  std::string folder = run_folder + "/last";
  run_->restore(load_checkpoint(folder), folder);
}
const Session& Trainer::session() const { return run_->session; }
const TrainingData& Trainer::data() const { return run_->data; }

}  // namespace tapeless
