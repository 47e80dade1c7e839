#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tapeless/optim/analysis.h"
#include "tapeless/optim/instantiate.h"

namespace tapeless::optim {

/// What happens where the loss or a gradient is not finite.
enum class Nonfinite : uint8_t {
  kOff,        // nothing is tested
  kCheckLoss,  // a bad loss leaves everything as it was; gradients are not read for a test: a bad
               // one makes its weight and then the next loss bad, and the weight names it
  kSkip        // a bad loss or gradient leaves everything as it was
};

/// Parameters by name pattern (`*` any letters, `?` one), with settings of their own.
struct Group {
  std::string name;
  std::vector<std::string> patterns;
  /// Empty: the optimizer of StepOptions, with its settings below the group's.
  std::string optimizer;
  Settings settings;
  bool frozen = false;
  /// Decay also parameters of rank below 2.
  bool decay_all = false;
  Loc loc;
};

struct StepOptions {
  /// The specialised function: (parameters...) -> (sum, weight, metrics..., new model state). The
  /// loss is sum / weight. With a single result that is the mean over the rows of the first input.
  std::string loss;
  std::string optimizer = "sgd";
  Settings settings;
  bool decay_all = false;
  /// The first group with a matching pattern takes a parameter.
  std::vector<Group> groups;
  /// Which functions are built, see attach().
  bool inline_step = true, separate_step = false, accumulation = false;
  std::optional<double> clip_norm, clip_value;
  /// Absent: skip where all gradients are held before the update anyway, else check_loss.
  std::optional<Nonfinite> nonfinite;
  bool report_grad_norm = false;
  /// Averages of the weights for evaluation, `ema.<parameter>`.
  std::optional<double> ema_decay;
  Loc loc;
};

/// A run-time value of the step functions: an f64[] parameter `name`.
struct HyperPlan {
  std::string name;   // `lr`, `head.lr` in the group `head`; `step` counts updates from 1
  std::string group;  // empty: all parameters without a group
  std::string key;    // `lr`
  double initial = 0;
  Range range;
};

/// State kept between steps beside parameters and model state: role state, new value `%name`.
struct StatePlan {
  std::string name;   // `opt.<parameter>.<state>`, `ema.<parameter>`, `acc.<parameter>`
  std::string param;  // empty: of no parameter
  Type type;
  double fill = 0;
  bool copies_weight = false;
};

struct ParamPlan {
  std::string name;
  Type type;
  std::string group;
  std::string optimizer;
  /// The function that updates it; empty: not updated.
  std::string update;
  bool frozen = false;
  /// The loss does not depend on it: no update, no decay, no state.
  bool absent = false;
  /// Left out of weight decay by its rank.
  bool undecayed = false;
  UpdateClass update_class = UpdateClass::kElementwise;
  /// A zero gradient leaves weight and state as they are.
  bool keeps_under_zero = false;
  std::vector<std::string> states;  // full names
};

/// What the step functions of a module need and how it starts.
struct StepPlan {
  std::vector<ParamPlan> params;  // all of role param, in the loss function's order
  std::vector<HyperPlan> hypers;
  std::vector<StatePlan> states;
  std::vector<StatePlan> accumulators;
  Nonfinite nonfinite = Nonfinite::kOff;
  /// Names of parameters that are updated: result `nonfinite` counts in this list.
  std::vector<std::string> updated;

  const ParamPlan* find(const std::string& param) const;
};

/// Values of the result `nonfinite` that are no position in `updated`.
inline constexpr int64_t kAllFinite = -1, kBadLoss = -2;

}  // namespace tapeless::optim
