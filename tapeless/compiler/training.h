#pragma once

#include <optional>
#include <string>

#include "tapeless/compiler/pass_record.h"
#include "tapeless/optim/step_plan.h"

namespace tapeless {

/// The source functions that a training program is made of; empty ones are left out.
struct TrainingSource {
  std::string loss;     // (inputs, variables) -> (sum, weight, metrics...)
  std::string predict;  // (input, variables) -> y
  std::string init;     // (key) -> (name of the variable: its first value, ...)
};

struct TrainingChoices {
  /// Contractions of bf16 operands, accumulated in f32; parameters stay f32.
  bool bf16 = false;
  /// Bytes that may be kept between forward and backward, at `sizes`; more is recomputed.
  std::optional<int64_t> memory_limit;
  SymbolValues sizes;
  /// Keep the module's text after each pass in TrainingModule::passes, for explain.
  bool keep_text = false;
};

struct TrainingModule {
  Module module;
  optim::StepPlan plan;
  /// Those of the entry points below that there are.
  std::vector<std::string> entries;
  std::vector<PassRecord> passes;
};

/// Everything that one executable of a training run holds, over the same parameters and states:
///   init, init_optimizer            first values
///   train_step | grad_step, update | accumulate, update_accumulated
///                                   as `options` asks for (optim/attach.h)
///   eval_step                       the loss in infer mode: (sum, weight, metrics...)
///   infer                           the prediction in infer mode
/// `options.loss` is set here. The passes are those of training_pipeline() in pipeline.cpp.
TrainingModule build_training_module(const Module& source, const TrainingSource& names,
                                     optim::StepOptions options,
                                     const TrainingChoices& choices = {});

}  // namespace tapeless
