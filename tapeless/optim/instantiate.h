#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tapeless/ir/module.h"
#include "tapeless/optim/syntax.h"

namespace tapeless::optim {

/// What a user sets: a number for a hyper; a number, flag or word for an option.
using Setting = std::variant<bool, double, std::string>;
using Settings = std::map<std::string, Setting>;

struct StateSpec {
  std::string name;
  Type type;
  double fill = 0;
  bool copies_weight = false;
};

/// An optimizer for one type of weight.
struct Instance {
  /// (%w param, %g input, states, hypers f64[]) -> (new weight, new states). Only hypers that are
  /// read are among the parameters.
  std::unique_ptr<Function> update;
  std::vector<StateSpec> states;
  /// Names of the hypers among the parameters, `step` included.
  std::vector<std::string> hypers;
};

/// Elaborates the body for a weight of type `weight`. `%weight_name` stands in messages. A hyper in
/// `fixed` is the constant of its setting instead of a run-time value. Conditions are decided by
/// the values that hypers have in `settings` or by default.
Instance instantiate(const OptimizerDef& def, const Type& weight, const std::string& weight_name,
                     const Settings& settings, const std::set<std::string>& fixed = {});

/// The starting value of every hyper: settings, else defaults. Checks that all settings name a
/// hyper or an option, that every hyper has a value, and the declared ranges.
std::map<std::string, double> hyper_values(const OptimizerDef& def, const Settings& settings,
                                           const Loc& loc);

}  // namespace tapeless::optim
