#pragma once

#include <map>
#include <string>

#include "tapeless/optim/step_plan.h"

namespace tapeless::optim {

/// `*` any letters (dots too), `?` one letter.
bool matches(std::string_view pattern, std::string_view name);

/// What the options say for one parameter.
struct Choice {
  const Group* group = nullptr;  // null: none matches
  std::string optimizer;
  Settings settings;
  bool frozen = false;
  bool undecayed = false;
  Loc loc;
};

/// Choices for all parameters of a function, and the optimizers that they name.
class Choices {
 public:
  /// CompileErrors: a pattern that matches nothing, an unknown optimizer or setting, a value out of
  /// its range.
  Choices(const Module& module, const Function& loss, const StepOptions& options);

  const Choice& of(const std::string& param) const { return choices_.at(param); }
  const OptimizerDef& optimizer(const Choice& choice) const {
    return optimizers_.at(choice.optimizer);
  }

 private:
  const OptimizerDef& load(const std::string& name, const Module& module, const Loc& loc);

  std::map<std::string, Choice> choices_;
  std::map<std::string, OptimizerDef> optimizers_;
};

}  // namespace tapeless::optim
