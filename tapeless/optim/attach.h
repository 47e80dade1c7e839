#pragma once

#include <string>
#include <vector>

#include "tapeless/optim/step_plan.h"

namespace tapeless::optim {

/// Names of the parameters to differentiate by: those of role param that no frozen group takes.
/// Checks the options: patterns that match nothing, unknown optimizers and settings, ranges.
std::vector<std::string> trainable(const Module& module, const StepOptions& options);

struct Stepped {
  Module module;
  StepPlan plan;
};

/// Builds the step functions from `<loss>.vjp`, which holds the gradients of trainable() and one
/// cotangent, that of the sum. Parameters are those of the loss function and, where read, states
/// and hypers by the names of the plan; the gradient of p is `grad.p`. New values are results
/// `%name`.
///   train_step          -> loss, weight, metrics..., [grad_norm], [nonfinite], new values
///   grad_step           -> loss, weight, metrics..., [nonfinite], grad.p..., new model state
///   update(grad.p...)   -> [grad_norm], [nonfinite], new values     (same bits as train_step)
///   accumulate          -> loss, weight, metrics..., new accumulators and model state
///   update_accumulated  -> loss, weight, [grad_norm], [nonfinite], new values, cleared
///   accumulators init_optimizer      -> starting states
Stepped attach(const Module& module, const StepOptions& options);

}  // namespace tapeless::optim
