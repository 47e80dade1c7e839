// Learning-rate schedules: values at single steps.
#include "tapeless/optim/schedule.h"

#include <gtest/gtest.h>

#include <functional>

namespace tapeless::optim {
namespace {

TEST(Schedule, Constant) {
  EXPECT_EQ(Schedule{}.value(0.5, 0), 0.5);
  EXPECT_EQ(Schedule{}.value(0.5, 1000000), 0.5);
}

TEST(Schedule, WarmUpRisesLinearly) {
  Schedule s{.warmup = 3};
  EXPECT_EQ(s.factor(0), 0.25);
  EXPECT_EQ(s.factor(2), 0.75);
  EXPECT_EQ(s.factor(3), 1);
}

TEST(Schedule, Step) {
  Schedule every{.kind = Schedule::Kind::kStep, .gamma = 0.5, .every = 10};
  EXPECT_EQ(every.factor(9), 1);
  EXPECT_EQ(every.factor(20), 0.25);
  Schedule at{.kind = Schedule::Kind::kStep, .gamma = 0.1, .milestones = {5, 8}};
  EXPECT_EQ(at.factor(4), 1);
  EXPECT_DOUBLE_EQ(at.factor(5), 0.1);
  EXPECT_DOUBLE_EQ(at.factor(8), 0.01);
}

TEST(Schedule, LinearCosinePolynomialReachTheirEnd) {
  for (auto kind :
       {Schedule::Kind::kLinear, Schedule::Kind::kCosine, Schedule::Kind::kPolynomial}) {
    Schedule s{.kind = kind, .warmup = 10, .total = 110, .final_fraction = 0.1};
    EXPECT_EQ(s.factor(10), 1);
    EXPECT_NEAR(s.factor(60), 0.55, 1e-12);
    EXPECT_DOUBLE_EQ(s.factor(110), 0.1);
    EXPECT_DOUBLE_EQ(s.factor(5000), 0.1);
  }
  Schedule square{.kind = Schedule::Kind::kPolynomial, .total = 100, .power = 2};
  EXPECT_DOUBLE_EQ(square.factor(50), 0.25);
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

TEST(Schedule, Mistakes) {
  using Kind = Schedule::Kind;
  auto expect = [](const Schedule& schedule, const char* part) {
    std::string message = message_of([&] { check_schedule(schedule, {}); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect({.kind = Kind::kLinear, .warmup = 5, .total = 5},
         "a schedule over 5 steps ends within its warm-up of 5");
  expect({.kind = Kind::kStep}, "a step schedule needs `every` or `milestones`");
  expect({.kind = Kind::kStep, .gamma = 0, .every = 1}, "gamma must be above 0, got 0");
  expect({.kind = Kind::kPolynomial, .total = 9, .power = 0}, "the power must be above 0, got 0");
  expect({.kind = Kind::kCosine, .total = 9, .final_fraction = -1},
         "the final fraction must not be negative, got -1");
  expect({.warmup = -1}, "a warm-up of -1 steps");
  EXPECT_EQ(schedule_kind("cosine", {}), Kind::kCosine);
  EXPECT_NE(
      message_of([] { schedule_kind("cosin", {}); }).find("no schedule `cosin`, did you mean"),
      std::string::npos);
}

}  // namespace
}  // namespace tapeless::optim
