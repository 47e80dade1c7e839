// Learning-rate schedules: values at single steps.
#include "tapeless/optim/schedule.h"

#include <gtest/gtest.h>

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

TEST(Schedule, Mistakes) {
  EXPECT_THROW(schedule_kind("cosin", {}), CompileError);
  EXPECT_EQ(schedule_kind("cosine", {}), Schedule::Kind::kCosine);
  EXPECT_THROW(check_schedule({.kind = Schedule::Kind::kLinear, .warmup = 5, .total = 5}, {}),
               CompileError);
  EXPECT_THROW(check_schedule({.kind = Schedule::Kind::kStep}, {}), CompileError);
  EXPECT_THROW(check_schedule({.warmup = -1}, {}), CompileError);
}

}  // namespace
}  // namespace tapeless::optim
