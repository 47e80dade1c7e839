#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tapeless/support/diagnostics.h"

namespace tapeless::optim {

/// The value of a hyper at each step: a function on the host, so that no schedule ever recompiles.
/// Steps count from 0. During `warmup` steps the value rises linearly: base (s + 1) / (warmup + 1).
struct Schedule {
  enum class Kind : uint8_t {
    kConstant,   // base
    kStep,       // base gamma^(number of milestones passed), or gamma^floor(s / every)
    kLinear,     // from base down to final at `total`
    kCosine,     // the same along half a cosine
    kPolynomial  // the same along (1 - progress)^power
  };
  Kind kind = Kind::kConstant;
  int64_t warmup = 0;
  /// Steps in all, for kinds that end; afterwards the value stays.
  int64_t total = 0;
  /// As a fraction of base.
  double final_fraction = 0;
  double power = 1;
  double gamma = 0.1;
  int64_t every = 0;                // of kStep; 0: milestones
  std::vector<int64_t> milestones;  // of kStep, ascending

  /// What base is multiplied by at step `s`.
  double factor(int64_t s) const;
  double value(double base, int64_t s) const { return base * factor(s); }
};

/// `constant`, `step`, `linear`, `cosine`, `polynomial`; a CompileError at `loc` names the nearest.
Schedule::Kind schedule_kind(const std::string& name, const Loc& loc);
/// Checks the numbers: a CompileError at `loc` says which one does not fit.
void check_schedule(const Schedule& schedule, const Loc& loc);

}  // namespace tapeless::optim
