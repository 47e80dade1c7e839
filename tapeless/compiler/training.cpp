// The front half of compiling a training run, from source functions to step functions:
//   @loss, @predict, @init  ->  @loss.train @loss.infer @predict.infer @init.infer   specialize
//                           ->  @loss.train.vjp                                      differentiate
//                           ->  @train_step ... @init_optimizer                      attach
//                           ->  @eval_step @infer @init                              by renaming
#include "tapeless/compiler/training.h"

#include "tapeless/autodiff/differentiate.h"
#include "tapeless/inline/inline_calls.h"
#include "tapeless/ir/verify.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/optim/attach.h"
#include "tapeless/precision/lower_precision.h"
#include "tapeless/remat/remat.h"

namespace tapeless {

namespace {

constexpr const char* kTrainingEntries[] = {
    "init",       "init_optimizer",     "train_step", "grad_step", "update",
    "accumulate", "update_accumulated", "eval_step",  "infer"};

void rename(Module& module, const std::string& from, const std::string& to) {
  if (Function* f = module.find(from)) f->name = to;
}

}  // namespace

TrainingModule build_training_module(const Module& source, const TrainingSource& names,
                                     optim::StepOptions options, const TrainingChoices& choices) {
  std::vector<ModeRequest> requests{{names.loss, Mode::kTrain}, {names.loss, Mode::kInfer}};
  if (!names.predict.empty()) requests.push_back({names.predict, Mode::kInfer});
  if (!names.init.empty()) requests.push_back({names.init, Mode::kInfer});
  Module module = specialize(source, requests);
  verify(module, "specialize");

  if (choices.bf16) module = lower_precision(module);
  verify(module, "lower_precision");

  options.loss = names.loss + ".train";
  module = differentiate(
      module, {.function = options.loss, .wrt = optim::trainable(module, options), .of = {"0"}});
  verify(module, "differentiate");
  if (choices.memory_limit) {
    module = remat(
        module, {.function = options.loss, .budget = choices.memory_limit, .sizes = choices.sizes});
    verify(module, "remat");
  }

  optim::Stepped stepped = optim::attach(module, options);
  rename(stepped.module, names.loss + ".infer", "eval_step");
  rename(stepped.module, names.predict + ".infer", "infer");
  rename(stepped.module, names.init + ".infer", "init");
  std::vector<std::string> entries;
  for (const char* entry : kTrainingEntries)
    if (stepped.module.find(entry) != nullptr) entries.emplace_back(entry);
  module = keep_reachable(stepped.module, entries);
  verify(module, "attach");
  return {std::move(module), std::move(stepped.plan), std::move(entries)};
}

}  // namespace tapeless
