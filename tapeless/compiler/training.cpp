// The front half of compiling a training run, from source functions to step functions: the passes
// of training_pipeline().
#include "tapeless/compiler/training.h"

#include "tapeless/compiler/pipeline.h"
#include "tapeless/ir/clone.h"

namespace tapeless {

TrainingModule build_training_module(const Module& source, const TrainingSource& names,
                                     optim::StepOptions options, const TrainingChoices& choices) {
  PipelineJob job;
  job.names = names;
  job.step = std::move(options);
  job.step.loss = names.loss + ".train";
  job.choices = choices;
  job.keep_text = choices.keep_text;
  Module module = run_pipeline(clone(source), training_pipeline(), job);
  return {std::move(module), std::move(job.plan), std::move(job.entries), std::move(job.records)};
}

}  // namespace tapeless
