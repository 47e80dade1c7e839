// verify on functions that text cannot write: each invariant broken by hand.
#include "tapeless/ir/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "tapeless/ops/build.h"
#include "tapeless/support/check.h"
#include "tapeless/text/parse.h"

namespace tapeless {
namespace {

constexpr char kText[] = R"(
func @f(%x: f32[4], %y: f32[4]) -> f32[4] {
  %a = neg %x
  %b = exp %a
  return %b
}
func @g(%x: f32[4]) -> f32[4] { return neg %x }
)";

std::string breach(const std::function<void(Module&)>& damage, const char* text = kText) {
  Module m = parse(std::make_shared<SourceText>(SourceText{"test.tir", text}));
  damage(m);
  try {
    verify(m, "damage");
  } catch (const InternalError& error) {
    return error.what();
  }
  return "none";
}

void expect_breach(const std::string& found, const std::string& wanted) {
  EXPECT_NE(found.find(wanted), std::string::npos) << found;
}

TEST(Verify, V1OperandsAreDefinedBefore) {
  auto swapped = breach([](Module& m) { std::swap(m.find("f")->body[0], m.find("f")->body[1]); });
  expect_breach(swapped, "V1: operand of `");
}

TEST(Verify, V2ResultTypesAreInferred) {
  auto retyped = [](Module& m) { m.find("f")->body[0]->results[0]->type = Type(DType::kF64, {4}); };
  expect_breach(breach(retyped), "V2: result types of `");
}

TEST(Verify, V4ResultsAreValues) {
  auto foreign = [](Module& m) { m.find("f")->results[0] = m.find("g")->results[0]; };
  expect_breach(breach(foreign), "V4: a result is no value of this function");
}

TEST(Verify, V5NamesAreUnique) {
  expect_breach(breach([](Module& m) { m.find("f")->name = "g"; }), "V5: function @g twice");
  expect_breach(breach([](Module& m) { m.find("f")->params[1]->name = "x"; }),
                "V5: parameter %x twice");
}

TEST(Verify, V7NothingDiffersByMode) {
  const char* text = "func @f(%x: f32[4]) -> f32[4] { return dropout %x {rate = 0.5} }";
  auto early = [](Module& m) { m.stage = Stage::kSpecialized; };
  expect_breach(breach(early, text), "V7: op dropout is not allowed after specialize");
}

}  // namespace
}  // namespace tapeless
