#pragma once

#include <string>
#include <vector>

#include "tapeless/ir/module.h"

namespace tapeless {

struct GradientRequest {
  std::string function;
  /// Names of the parameters whose gradients are wanted; empty: all float ones of role param.
  std::vector<std::string> wrt = {};
  /// Results that get a cotangent, by name or by position ("0"); empty: all float results but new
  /// values of parameters (those named "%w").
  std::vector<std::string> of = {};
};

/// Adds `<f>.vjp`: (parameters of f, `d.<result name or position>` for each chosen result) ->
/// (results of f, `grad.<parameter>` for each of `wrt`). A parameter that no cotangent reaches has
/// no gradient at all, not zeros: it is not among the results.
///
/// Calls are differentiated as calls; their pullbacks `<g>.vjp` (parameters, cotangents) ->
/// (gradients) are added too. All ops without a gradient are reported in one CompileError.
Module differentiate(const Module& module, const GradientRequest& request);

}  // namespace tapeless
