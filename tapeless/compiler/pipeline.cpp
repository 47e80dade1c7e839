// THE table of contents of the compiler. Every pass is a row of kPasses; two pipelines walk it:
//
//   @loss @predict @init    training_pipeline()   specialize ... attach     @train_step @eval_step
//   any entry points        compile_pipeline()    inline_calls ... fuse     regions, one a kernel
//
// Behind the last row come schedule.cpp (fused regions -> steps over storages; lower/ makes their
// kernels) and codegen/ (kernels -> machine code): compile.cpp calls them, they are no passes.
#include "tapeless/compiler/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tapeless/autodiff/differentiate.h"
#include "tapeless/autodiff/split.h"
#include "tapeless/compiler/optimizer_passes.h"
#include "tapeless/compiler/pass_options.h"
#include "tapeless/compiler/reproducer.h"
#include "tapeless/fuse/fuse.h"
#include "tapeless/inline/inline_calls.h"
#include "tapeless/ir/clone.h"
#include "tapeless/ir/print.h"
#include "tapeless/ir/verify.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/optim/attach.h"
#include "tapeless/precision/lower_precision.h"
#include "tapeless/remat/remat.h"
#include "tapeless/simplify/simplify.h"

namespace tapeless {

namespace {

using Job = PipelineJob;

// The checks of each entry; an entry that computes some ahead is joined by one that does.
Module collect_all_checks(const Module& m, Job& job) {
  Module out = clone(m);
  for (size_t i = 0; i < job.entries.size(); ++i) {
    job.checks.push_back(collect_checks(out, job.entries[i]));
    if (!job.checks.back().ahead.empty()) job.entries.push_back(job.checks.back().ahead);
  }
  return out;
}

Module checks_pass(const Module& m, const AttrMap&) {
  Job job;
  for (const auto& f : m.functions)
    if (f->has_body()) job.entries.push_back(f->name);
  return collect_all_checks(m, job);
}

constexpr Pass kPasses[] = {
    {.name = "keep_reachable",
     .doc = "Only these functions and what they name.",
     .options = kKeepOptions,
     .run = keep_pass},
    {.name = "specialize",
     .doc = "Ops that differ by mode take their form; makes <f>.<mode>.",
     .options = kSpecializeOptions,
     .run = specialize_pass,
     .makes = Stage::kSpecialized,
     .run_for = [](const Module& m, Job& job) { return specialize(m, mode_requests(job.names)); },
     .options_for = specialize_text},
    {.name = "lower_precision",
     .doc = "Contractions over bf16 values with f32 accumulation.",
     .run = [](const Module& m, const AttrMap&) { return lower_precision(m); },
     .run_for = [](const Module& m, Job&) { return lower_precision(m); },
     .wanted = [](const Job& job) { return job.choices.bf16; }},
    {.name = "differentiate",
     .doc = "Adds <f>.vjp.",
     .options = kDifferentiateOptions,
     .run = differentiate_pass,
     .makes = Stage::kDifferentiated,
     .run_for = [](const Module& m,
                   Job& job) { return differentiate(m, loss_gradient(m, job.step)); },
     .options_for = differentiate_text},
    {.name = "remat",
     .doc = "Computes values again in the backward of <f>.vjp.",
     .options = kRematOptions,
     .run = remat_pass,
     .run_for =
         [](const Module& m, Job& job) {
           return remat(m, {.function = job.step.loss,
                            .budget = job.choices.memory_limit,
                            .sizes = job.choices.sizes});
         },
     .wanted = [](const Job& job) { return job.choices.memory_limit.has_value(); },
     .options_for = remat_text},
    {.name = "split",
     .doc = "<f>.vjp as <f>.forward and <f>.backward.",
     .options = kSplitOptions,
     .run = split_pass},
    {.name = "instantiate",
     .doc = "An optimizer's update function for one weight.",
     .options = kInstantiateOptions,
     .run = instantiate_pass},
    {.name = "attach",
     .doc = "Adds the step functions of a differentiated loss.",
     .options = kAttachOptions,
     .run = attach_pass,
     .makes = Stage::kStepped,
     .run_for = attach_entries,
     .options_for = [](const Module&, const Job& job) { return attach_text(job.step); }},
    {.name = "inline_calls",
     .doc = "Calls become the bodies of their callees.",
     .run = [](const Module& m, const AttrMap&) { return inline_calls(m); },
     .run_for = [](const Module& m,
                   Job& job) { return keep_reachable(inline_calls(m), job.entries); }},
    {.name = "collect_checks",
     .doc = "Indices that are computed inside <f> get <f>.checks, which runs ahead of it.",
     .run = checks_pass,
     .from = Stage::kSpecialized,
     .run_for = collect_all_checks},
    {.name = "expand_composites",
     .doc = "Ops without a lowering of their own become simpler ones.",
     .run = [](const Module& m, const AttrMap&) { return expand_composites(m); },
     .run_for = [](const Module& m, Job&) { return expand_composites(m); }},
    {.name = "simplify",
     .doc = "Fewer and simpler ops with the same bits.",
     .run = [](const Module& m, const AttrMap&) { return simplify(m); },
     .from = Stage::kSpecialized,
     .run_for = [](const Module& m, Job&) { return simplify(m); }},
    {.name = "fuse",
     .doc = "Cuts functions into regions, one kernel each.",
     .options = kFuseOptions,
     .run = fuse_pass,
     .from = Stage::kSpecialized,
     .makes = Stage::kFused,
     .run_for = [](const Module& m, Job& job) { return fuse(m, job.merge); },
     .options_for = [](const Module&,
                       const Job& job) { return fmt::format("merge = {}", job.merge); }},
};

constexpr std::string_view kTrainingPipeline[] = {"specialize", "lower_precision", "differentiate",
                                                  "remat", "attach"};

// Simplify runs on both sides of the expansion: rules of composites see whole ops, those of
// primitives what the composites became.
constexpr std::string_view kCompilePipeline[] = {"inline_calls",      "collect_checks", "simplify",
                                                 "expand_composites", "simplify",       "fuse"};

const Pass& pass_named(std::string_view name) {
  const Pass* found = std::find_if(std::begin(kPasses), std::end(kPasses),
                                   [&](const Pass& pass) { return pass.name == name; });
  TL_CHECK(found != std::end(kPasses), "no pass {}", name);
  return *found;
}

// The pass as `tapeless opt --passes` takes it.
std::string as_text(const Pass& pass, const Module& module, const Job& job) {
  std::string options = pass.options_for == nullptr ? "" : pass.options_for(module, job);
  return std::string(pass.name) + (options.empty() ? "" : "{" + options + "}");
}

Module run_recorded(const Pass& pass, const Module& module, Job& job) {
  auto start = std::chrono::steady_clock::now();
  Module result = pass.run_for(module, job);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  verify(result, pass.name);
  Stage stage = std::max(pass.makes, module.stage);
  TL_CHECK(result.stage == stage, "{} gives stage {}, not {}", pass.name, stage_name(result.stage),
           stage_name(stage));
  PassRecord record{std::string(pass.name), stage, result.functions.size(), 0, took.count(), {}};
  for (const auto& f : result.functions) record.ops += f->body.size();
  if (job.keep_text) record.text = print(result);
  job.records.push_back(std::move(record));
  return result;
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }
std::span<const std::string_view> training_pipeline() { return kTrainingPipeline; }
std::span<const std::string_view> compile_pipeline() { return kCompilePipeline; }

Module run_pipeline(Module module, std::span<const std::string_view> passes, PipelineJob& job) {
  for (std::string_view name : passes) {
    const Pass& pass = pass_named(name);
    if (pass.wanted != nullptr && !pass.wanted(job)) continue;
    try {
      module = run_recorded(pass, module, job);
    } catch (const InternalError& e) {
      throw_with_reproducer(
          e, module, fmt::format("tapeless opt %s --passes '{}'", as_text(pass, module, job)));
    }
  }
  return module;
}

}  // namespace tapeless
