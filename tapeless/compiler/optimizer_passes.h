#pragma once

#include "tapeless/ir/op_def.h"
#include "tapeless/optim/step_plan.h"

// The optimizer stage as passes for text tests: options as attributes. `settings` is a text,
// "lr = 0.1, nesterov = true".
namespace tapeless {

inline constexpr AttrDef kAttachOptions[] = {
    {.name = "loss", .kind = AttrKind::kString, .doc = "the specialised loss function"},
    {.name = "optimizer", .kind = AttrKind::kString, .fallback = "sgd", .doc = "name or .tir file"},
    {.name = "settings", .kind = AttrKind::kString, .fallback = "", .doc = "lr = 0.1, ..."},
    {.name = "frozen", .kind = AttrKind::kShape, .optional = true, .doc = "parameters kept"},
    {.name = "inline", .kind = AttrKind::kBool, .fallback = true, .doc = "build train_step"},
    {.name = "separate",
     .kind = AttrKind::kBool,
     .fallback = false,
     .doc = "build grad_step and update"},
    {.name = "accumulation",
     .kind = AttrKind::kBool,
     .fallback = false,
     .doc = "build accumulate and update_accumulated"},
    {.name = "decay_all",
     .kind = AttrKind::kBool,
     .fallback = false,
     .doc = "decay weights of rank below 2 too"},
    {.name = "clip_norm", .kind = AttrKind::kReal, .optional = true, .doc = "global norm limit"},
    {.name = "clip_value", .kind = AttrKind::kReal, .optional = true, .doc = "element limit"},
    {.name = "ema_decay", .kind = AttrKind::kReal, .optional = true, .doc = "averaged weights"},
    {.name = "nonfinite",
     .kind = AttrKind::kString,
     .optional = true,
     .doc = "off, check_loss or skip"}};

inline constexpr AttrDef kInstantiateOptions[] = {
    {.name = "optimizer", .kind = AttrKind::kString, .doc = "name or .tir file"},
    {.name = "weight", .kind = AttrKind::kString, .doc = "type of the weight: \"f32[3, 4]\""},
    {.name = "settings", .kind = AttrKind::kString, .fallback = "", .doc = "lr = 0.1, ..."}};

/// The step functions of a loss that is differentiated, see optim/attach.h.
Module attach_pass(const Module& module, const AttrMap& options);
/// The options of attach that do what `options` asks for, for the command of a reproducer. Of
/// groups only what they freeze can be said.
std::string attach_text(const optim::StepOptions& options);
/// An optimizer's update function for a weight of one type, alone in a module.
Module instantiate_pass(const Module& module, const AttrMap& options);

}  // namespace tapeless
