#pragma once

#include "tapeless/autodiff/differentiate.h"
#include "tapeless/compiler/pipeline.h"
#include "tapeless/mode/specialize.h"

// Options of passes by three names: as attributes of `tapeless opt`, as requests of a stage's entry
// function, and as the text of a reproducer's command.
namespace tapeless {

inline constexpr AttrDef kSpecializeOptions[] = {
    {.name = "functions", .kind = AttrKind::kShape, .doc = "the functions to keep, as [f, g]"},
    {.name = "mode", .kind = AttrKind::kString, .doc = "train or infer"},
    {.name = "infer",
     .kind = AttrKind::kShape,
     .optional = true,
     .doc = "functions to keep in infer mode besides"}};

inline constexpr AttrDef kDifferentiateOptions[] = {
    {.name = "function", .kind = AttrKind::kString, .doc = "what to differentiate"},
    {.name = "wrt", .kind = AttrKind::kShape, .optional = true, .doc = "parameters; all if absent"},
    {.name = "of", .kind = AttrKind::kShape, .optional = true, .doc = "results; all if absent"}};

inline constexpr AttrDef kSplitOptions[] = {
    {.name = "function", .kind = AttrKind::kString, .doc = "f of the <f>.vjp to split"}};

inline constexpr AttrDef kRematOptions[] = {
    {.name = "function", .kind = AttrKind::kString, .doc = "f of the <f>.vjp to rewrite"},
    {.name = "budget",
     .kind = AttrKind::kInt,
     .optional = true,
     .doc = "bytes kept between forward and backward; only cheap ops are repeated if absent"}};

inline constexpr AttrDef kFuseOptions[] = {
    {.name = "merge", .kind = AttrKind::kBool, .fallback = true, .doc = "off: one op a kernel"}};

inline constexpr AttrDef kKeepOptions[] = {
    {.name = "functions", .kind = AttrKind::kShape, .doc = "the functions to keep"}};

Module keep_pass(const Module& module, const AttrMap& options);
Module specialize_pass(const Module& module, const AttrMap& options);
Module differentiate_pass(const Module& module, const AttrMap& options);
Module remat_pass(const Module& module, const AttrMap& options);
Module split_pass(const Module& module, const AttrMap& options);
Module fuse_pass(const Module& module, const AttrMap& options);

/// The loss in both modes, prediction and initialisation in infer mode.
std::vector<ModeRequest> mode_requests(const TrainingSource& names);
/// The first result of the loss by every parameter that is trained.
GradientRequest loss_gradient(const Module& module, const optim::StepOptions& step);
/// Attaches and leaves the entry points alone, under their names; notes them and the plan.
Module attach_entries(const Module& module, PipelineJob& job);

std::string specialize_text(const Module& module, const PipelineJob& job);
std::string differentiate_text(const Module& module, const PipelineJob& job);
std::string remat_text(const Module& module, const PipelineJob& job);

}  // namespace tapeless
