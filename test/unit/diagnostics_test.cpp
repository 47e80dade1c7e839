// Rendering of locations and carets, which text tests meet only through whole programs.
#include "tapeless/support/diagnostics.h"

#include <gtest/gtest.h>

namespace tapeless {
namespace {

TEST(Diagnostics, PointsIntoTheText) {
  auto source = std::make_shared<SourceText>(SourceText{"net.tir", "func @f() {\n  tanh %x\n}\n"});
  Diagnostic diagnostic{Loc{source, 2, 8, ""}, "[tanh] bad"};
  EXPECT_EQ(diagnostic.str(), "net.tir:2:8: error: [tanh] bad\n    tanh %x\n         ^");
}

TEST(Diagnostics, NearestWord) {
  EXPECT_EQ(nearest("learning_rat", {"momentum", "learning_rate"}), "learning_rate");
  EXPECT_EQ(nearest("zzz", {"momentum", "learning_rate"}), "");
}

}  // namespace
}  // namespace tapeless
