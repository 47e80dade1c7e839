#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tapeless/compiler/checks.h"
#include "tapeless/compiler/pass_record.h"
#include "tapeless/compiler/training.h"
#include "tapeless/ir/op_def.h"

namespace tapeless {

/// What one compile is asked for, and what its passes find out on the way.
struct PipelineJob {
  TrainingSource names;  // the training pipeline
  optim::StepOptions step;
  TrainingChoices choices;
  std::vector<std::string> entries;  // the compile pipeline; made by attach
  bool merge = true;
  bool keep_text = false;

  std::vector<EntryChecks> checks;  // one an entry
  optim::StepPlan plan;
  std::vector<PassRecord> records;
};

/// A row of the table of contents: a pass by name, as `tapeless opt` runs it with options (they are
/// described as attributes of ops are), and as a pipeline runs it for a job.
struct Pass {
  std::string_view name;
  std::string_view doc;
  std::span<const AttrDef> options = {};
  Module (*run)(const Module& module, const AttrMap& options) = nullptr;
  /// The earliest stage that the pass takes.
  Stage from = Stage::kSource;
  /// The stage of what a pipeline gets from it; that of its operand where it makes none.
  Stage makes = Stage::kSource;
  /// Null in both for passes that are in no pipeline.
  Module (*run_for)(const Module& module, PipelineJob& job) = nullptr;
  /// Whether the job asks for it; null: always.
  bool (*wanted)(const PipelineJob& job) = nullptr;
  /// The options of `run` that do what `run_for` does, as text; null: none.
  std::string (*options_for)(const Module& module, const PipelineJob& job) = nullptr;
};

/// All passes, in the order of the flow.
std::span<const Pass> all_passes();
/// Their names in the order in which a training run's functions are built ...
std::span<const std::string_view> training_pipeline();
/// ... and in which every module is made ready for scheduling and code generation.
std::span<const std::string_view> compile_pipeline();

/// Runs the passes of a pipeline that the job wants, verifies after each and notes it in the job's
/// records. A bug met on the way leaves a reproducer.
Module run_pipeline(Module module, std::span<const std::string_view> passes, PipelineJob& job);

}  // namespace tapeless
