// A trained model without its trainer: only the entry points that change nothing are compiled.
#include <filesystem>

#include "tapeless/support/diagnostics.h"
#include "tapeless/train/checkpoint.h"
#include "tapeless/train/trainer.h"

namespace tapeless {

namespace {

namespace fs = std::filesystem;

// The checkpoint that a run folder means.
std::string checkpoint_folder(const std::string& from) {
  for (const char* part : {"", "/best", "/last"})
    if (fs::exists(from + part + "/run.json")) return from + part;
  data_error("{}: neither a checkpoint nor a run folder with best/ or last/", from);
}

}  // namespace

Predictor::Predictor(const Recipe& recipe, const std::string& from, const TrainerOptions& options)
    : data_(load_data(recipe)), batch_(recipe.eval.batch) {
  std::string folder = checkpoint_folder(from);
  bool averaged = recipe.train.ema.has_value();
  Checkpoint checkpoint = load_checkpoint(folder, averaged);
  SessionSpec spec;
  spec.model = build_model(recipe, data_.input);
  spec.optimizer = step_options(recipe);
  spec.choices = training_choices(recipe);
  spec.compile = compile_options(options);
  spec.evaluation_only = true;
  session_ = std::make_unique<Session>(std::move(spec));
  if (averaged)
    session_->state().assign(checkpoint.model, checkpoint.optimizer, folder);
  else
    session_->state().assign_model(checkpoint.model, folder);
  epoch_ = checkpoint.run.epoch;
}

Evaluation Predictor::evaluate(std::shared_ptr<const Dataset> data) {
  EntryCall eval_step = session_->entry("eval_step", session_->averages());
  return tapeless::evaluate(eval_step, std::move(data), batch_);
}

Answers Predictor::classify(std::shared_ptr<const Dataset> data) {
  if (!session_->has("infer")) data_error("the model has no function @predict");
  EntryCall infer = session_->entry("infer", session_->averages());
  return tapeless::classify(infer, std::move(data), batch_);
}

}  // namespace tapeless
