// Texts of optimizers: what the compiler finds out about the built-in ones, and damaged texts.
#include <gtest/gtest.h>

#include <functional>

#include "tapeless/optim/analysis.h"
#include "tapeless/optim/instantiate.h"
#include "tapeless/optim/parse_optimizer.h"
#include "tapeless/text/parse.h"

namespace tapeless::optim {
namespace {

Module parse_text(const std::string& text) {
  return parse(std::make_shared<SourceText>(SourceText{"test.tir", text}));
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const CompileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Optimizers, ClassesAndZeroGradients) {
  auto check = [](const char* name, Settings settings, UpdateClass wanted, bool keeps) {
    OptimizerDef def = find_optimizer(name, nullptr, {});
    Shape shape = {4, 3};
    Instance i = instantiate(def, Type(DType::kF32, shape), "w", settings);
    std::map<std::string, Range> ranges;
    for (const std::string& h : i.hypers) ranges[h] = def.range(h);
    EXPECT_EQ(update_class_name(classify(*i.update)), update_class_name(wanted)) << name;
    EXPECT_EQ(keeps_under_zero_gradient(*i.update, ranges), keeps) << name;
  };
  check("sgd", {}, UpdateClass::kElementwise, true);
  check("sgd", {{"momentum", 0.9}}, UpdateClass::kElementwise, false);
  check("sgd", {{"weight_decay", 0.1}}, UpdateClass::kElementwise, false);
  check("adagrad", {}, UpdateClass::kElementwise, true);
  check("rowwise_adagrad", {}, UpdateClass::kRowSeparable, true);
  check("adam", {}, UpdateClass::kElementwise, false);
  check("adamw", {}, UpdateClass::kElementwise, false);
  check("lamb", {}, UpdateClass::kPerTensor, false);
  check("adafactor", {}, UpdateClass::kPerTensor, false);
  check("muon", {}, UpdateClass::kPerTensor, false);
  check("lion", {}, UpdateClass::kElementwise, false);
  check("rmsprop", {}, UpdateClass::kElementwise, false);
  check("adadelta", {}, UpdateClass::kElementwise, false);
}

TEST(Optimizers, StateShapes) {
  Shape shape = {4, 3};
  Instance rows = instantiate(find_optimizer("rowwise_adagrad", nullptr, {}),
                              Type(DType::kF32, shape), "w", {});
  ASSERT_EQ(rows.states.size(), 1u);
  EXPECT_EQ(rows.states[0].type.str(), "f32[4]");
  Instance factors =
      instantiate(find_optimizer("adafactor", nullptr, {}), Type(DType::kF32, shape), "w", {});
  ASSERT_EQ(factors.states.size(), 2u);
  EXPECT_EQ(factors.states[0].type.str(), "f32[4, 1]");
  EXPECT_EQ(factors.states[1].type.str(), "f32[1, 3]");
  EXPECT_TRUE(instantiate(find_optimizer("sgd", nullptr, {}), Type(DType::kF32, shape), "w", {})
                  .states.empty());
}

TEST(Optimizers, DeepNestingIsRefused) {
  for (const char* piece : {"(", "-", "2^", "not ", "tanh("}) {
    std::string deep;
    for (int i = 0; i < 100000; ++i) deep += piece;
    Module m = parse_text("optimizer @deep(lr = 1) { update(%w, %g) { %w = " + deep + "1 } }");
    std::string message = message_of([&] { parse_optimizer(m.optimizers[0]); });
    EXPECT_NE(message.find("this is nested too deeply"), std::string::npos) << piece;
  }
}

// Built-in texts cut and changed at random: a CompileError or an optimizer, never a crash.
TEST(Optimizers, DamagedTexts) {
  uint32_t seed = 1;
  auto random = [&](size_t n) { return (seed = seed * 1664525u + 1013904223u) / 65536u % n; };
  for (const std::string& name : builtin_optimizers()) {
    OptimizerDef whole = find_optimizer(name, nullptr, {});
    for (int i = 0; i < 200; ++i) {
      std::string text = whole.loc.source->text;
      for (int edit = 0; edit < 3; ++edit) {
        size_t at = random(text.size()), other = random(text.size());
        text.replace(at, random(12), text.substr(other, random(12)));
      }
      try {
        Module m = parse_text(text);
        Shape shape = {4, 3};
        for (const OptimizerText& o : m.optimizers)
          instantiate(parse_optimizer(o), Type(DType::kF32, shape), "w", {});
      } catch (const CompileError&) {
      }
    }
  }
}

}  // namespace
}  // namespace tapeless::optim
