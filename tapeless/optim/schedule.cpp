// Learning-rate schedules.
#include "tapeless/optim/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace tapeless::optim {

namespace {

constexpr std::array<const char*, 5> kNames = {"constant", "step", "linear", "cosine",
                                               "polynomial"};

double step_factor(const Schedule& s, int64_t step) {
  auto passed =
      std::count_if(s.milestones.begin(), s.milestones.end(), [&](int64_t m) { return m <= step; });
  if (s.every > 0) passed = step / s.every;
  return std::pow(s.gamma, static_cast<double>(passed));
}

// 1 at the start, 0 at the end and after it.
double remaining(const Schedule& s, int64_t step) {
  int64_t span = s.total - s.warmup;
  if (span <= 0) return 0;
  return 1 - std::clamp(static_cast<double>(step - s.warmup) / static_cast<double>(span), 0.0, 1.0);
}

double shape(const Schedule& s, int64_t step) {
  switch (s.kind) {
    case Schedule::Kind::kConstant:
      return 1;
    case Schedule::Kind::kStep:
      return step_factor(s, step);
    case Schedule::Kind::kLinear:
      return remaining(s, step);
    case Schedule::Kind::kCosine:
      return 0.5 * (1 - std::cos(std::numbers::pi * remaining(s, step)));
    case Schedule::Kind::kPolynomial:
      return std::pow(remaining(s, step), s.power);
  }
  return 1;
}

}  // namespace

double Schedule::factor(int64_t s) const {
  if (s < warmup) return static_cast<double>(s + 1) / static_cast<double>(warmup + 1);
  bool ends = kind != Kind::kConstant && kind != Kind::kStep;
  double final = ends ? final_fraction : 0;
  return final + (1 - final) * shape(*this, s);
}

Schedule::Kind schedule_kind(const std::string& name, const Loc& loc) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<Schedule::Kind>(i);
  std::string near = nearest(name, {kNames.begin(), kNames.end()});
  compile_error(loc, "no schedule `{}`{}", name,
                near.empty() ? std::string(": constant, step, linear, cosine or polynomial")
                             : ", did you mean `" + near + "`?");
}

void check_schedule(const Schedule& s, const Loc& loc) {
  bool ends = s.kind != Schedule::Kind::kConstant && s.kind != Schedule::Kind::kStep;
  if (s.warmup < 0) compile_error(loc, "a warm-up of {} steps", s.warmup);
  if (ends && s.total <= s.warmup)
    compile_error(loc, "a schedule over {} steps ends within its warm-up of {}", s.total, s.warmup);
  if (!(s.final_fraction >= 0 && std::isfinite(s.final_fraction)))
    compile_error(loc, "the final fraction must not be negative, got {}", s.final_fraction);
  if (!(s.power > 0 && std::isfinite(s.power)))
    compile_error(loc, "the power must be above 0, got {}", s.power);
  if (s.kind != Schedule::Kind::kStep) return;
  if (!(s.gamma > 0 && std::isfinite(s.gamma)))
    compile_error(loc, "gamma must be above 0, got {}", s.gamma);
  if (s.every < 0 || (s.every == 0 && s.milestones.empty()))
    compile_error(loc, "a step schedule needs `every` or `milestones`");
}

}  // namespace tapeless::optim
