// Between the options of passes, as text, and the requests that stages take.
#include "tapeless/compiler/pass_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tapeless/autodiff/split.h"
#include "tapeless/fuse/fuse.h"
#include "tapeless/inline/inline_calls.h"
#include "tapeless/optim/attach.h"
#include "tapeless/remat/remat.h"

namespace tapeless {

namespace {

// Lists of names are read as sizes: `[w, layer.b]`.
std::vector<std::string> names(const AttrMap& options, std::string_view key) {
  std::vector<std::string> out;
  auto found = options.find(key);
  if (found == options.end()) return out;
  for (const Dim& d : std::get<Shape>(found->second)) out.push_back(d.str());
  return out;
}

std::string text(const AttrMap& options, std::string_view key) {
  return std::get<std::string>(options.find(key)->second);
}

constexpr const char* kTrainingEntries[] = {
    "init",       "init_optimizer",     "train_step", "grad_step", "update",
    "accumulate", "update_accumulated", "eval_step",  "infer"};

void rename(Module& module, const std::string& from, const std::string& to) {
  if (Function* f = module.find(from)) f->name = to;
}

}  // namespace

Module keep_pass(const Module& module, const AttrMap& options) {
  return keep_reachable(module, names(options, "functions"));
}

Module specialize_pass(const Module& module, const AttrMap& options) {
  std::string mode = text(options, "mode");
  if (mode != "train" && mode != "infer")
    data_error("specialize: mode must be train or infer, got {}", mode);
  std::vector<ModeRequest> requests;
  for (const std::string& name : names(options, "functions"))
    requests.push_back({name, mode == "train" ? Mode::kTrain : Mode::kInfer});
  for (const std::string& name : names(options, "infer")) requests.push_back({name, Mode::kInfer});
  return specialize(module, requests);
}

Module differentiate_pass(const Module& module, const AttrMap& options) {
  return differentiate(module,
                       {text(options, "function"), names(options, "wrt"), names(options, "of")});
}

Module remat_pass(const Module& module, const AttrMap& options) {
  RematRequest request{.function = text(options, "function")};
  if (auto found = options.find("budget"); found != options.end())
    request.budget = std::get<int64_t>(found->second);
  return remat(module, request);
}

Module split_pass(const Module& module, const AttrMap& options) {
  return split(module, {text(options, "function")});
}

Module fuse_pass(const Module& module, const AttrMap& options) {
  return fuse(module, std::get<bool>(options.find("merge")->second));
}

std::vector<ModeRequest> mode_requests(const TrainingSource& names) {
  std::vector<ModeRequest> requests{{names.loss, Mode::kTrain}, {names.loss, Mode::kInfer}};
  if (!names.predict.empty()) requests.push_back({names.predict, Mode::kInfer});
  if (!names.init.empty()) requests.push_back({names.init, Mode::kInfer});
  return requests;
}

GradientRequest loss_gradient(const Module& module, const optim::StepOptions& step) {
  return {.function = step.loss, .wrt = optim::trainable(module, step), .of = {"0"}};
}

Module attach_entries(const Module& module, PipelineJob& job) {
  optim::Stepped stepped = optim::attach(module, job.step);
  rename(stepped.module, job.names.loss + ".infer", "eval_step");
  rename(stepped.module, job.names.predict + ".infer", "infer");
  rename(stepped.module, job.names.init + ".infer", "init");
  for (const char* entry : kTrainingEntries)
    if (stepped.module.find(entry) != nullptr) job.entries.emplace_back(entry);
  job.plan = std::move(stepped.plan);
  return keep_reachable(stepped.module, job.entries);
}

std::string specialize_text(const Module&, const PipelineJob& job) {
  std::vector<std::string> infer;
  for (const ModeRequest& request : mode_requests(job.names))
    if (request.mode == Mode::kInfer) infer.push_back(request.function);
  return fmt::format("functions = [{}], mode = train, infer = [{}]", job.names.loss,
                     fmt::join(infer, ", "));
}

std::string differentiate_text(const Module& module, const PipelineJob& job) {
  return fmt::format("function = {}, wrt = [{}], of = [0]", job.step.loss,
                     fmt::join(loss_gradient(module, job.step).wrt, ", "));
}

std::string remat_text(const Module&, const PipelineJob& job) {
  return fmt::format("function = {}, budget = {}", job.step.loss, job.choices.memory_limit.value());
}

}  // namespace tapeless
