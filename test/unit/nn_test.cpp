// Layers and models: names, first values, and the functions around a network.
#include <gtest/gtest.h>

#include <cmath>

#include "tapeless/interp/interpret.h"
#include "tapeless/ir/print.h"
#include "tapeless/ir/verify.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/nn/model.h"
#include "tapeless/text/parse.h"

namespace tapeless {
namespace {

Value* tiny(nn::Layers& l, Value* x) {
  x = l.max_pool(l.relu(l.batch_norm("bn1", l.conv2d("conv1", x, 4, 3))), 2);
  return l.linear("fc", l.dropout(l.flatten(x), 0.5), 3);
}

nn::Model tiny_model() {
  return nn::make_model({.input = {1, 8, 8}, .classes = 3, .max_batch = 16}, tiny);
}

std::vector<std::string> variable_names(const Function& f) {
  std::vector<std::string> names;
  for (const nn::Variable& v : nn::default_variables(f)) names.push_back(v.name);
  return names;
}

Module infer(const Module& m, const std::string& function) {
  ModeRequest request{function, Mode::kInfer};
  return specialize(m, {&request, 1});
}

Tensor ramp(Extents shape) {
  Tensor t(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i) t.set(i, std::sin(0.7 * double(i)));
  return t;
}

TEST(Nn, NamesAreThoseOfPyTorch) {
  nn::Model model = tiny_model();
  verify(model.module);
  std::vector<std::string> want = {"conv1.weight",     "conv1.bias",      "bn1.weight", "bn1.bias",
                                   "bn1.running_mean", "bn1.running_var", "fc.weight",  "fc.bias"};
  EXPECT_EQ(variable_names(*model.module.find("net")), want);
  EXPECT_EQ(variable_names(*model.module.find("loss")), want);
  EXPECT_EQ(variable_names(*model.module.find("predict")), want);
}

TEST(Nn, PrintedModelsParseBack) {
  nn::Model model = tiny_model();
  std::string text = print(model.module);
  Module again = parse(std::make_shared<SourceText>(SourceText{"model.tir", text}));
  EXPECT_EQ(print(again), text);
}

TEST(Nn, FirstValuesLieInPyTorchsBounds) {
  nn::Model model = tiny_model();
  Tensor key(DType::kKey, {});
  key.set_int(0, 7);
  const Function& init = *model.module.find("init");
  std::vector<Tensor> values = interpret(model.module, "init", std::vector<Tensor>{key});
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = init.result_names[i];
    double bound = name.find("conv1") != std::string::npos ? 1.0 / 3 : 1 / std::sqrt(36.0);
    double sum = 0;
    for (int64_t j = 0; j < values[i].numel(); ++j) {
      sum += values[i].get(j);
      if (name.find("bn1") == std::string::npos) {
        EXPECT_LE(std::abs(values[i].get(j)), bound);
      }
    }
    bool one = name == "bn1.running_var" || name == "bn1.weight";
    if (name.find("bn1") != std::string::npos) {
      EXPECT_EQ(sum, one ? 4 : 0) << name;
    } else if (values[i].numel() > 16) {
      EXPECT_LT(std::abs(sum), bound * double(values[i].numel()) / 2) << name;
    }
  }
}

TEST(Nn, LossAndPrediction) {
  nn::Model model = tiny_model();
  Tensor key(DType::kKey, {});
  std::vector<Tensor> values = interpret(model.module, "init", std::vector<Tensor>{key});
  std::vector<Tensor> args{ramp({5, 1, 8, 8})};
  args.insert(args.end(), values.begin(), values.end());
  Tensor p = interpret(infer(model.module, "predict"), "predict.infer", args).at(0);
  ASSERT_EQ(p.shape(), (Extents{5, 3}));
  Tensor y(DType::kI32, {5});
  double loss = 0;
  for (int64_t row = 0; row < 5; ++row) {
    EXPECT_NEAR(p.get(3 * row) + p.get(3 * row + 1) + p.get(3 * row + 2), 1, 1e-6);
    int64_t best = 0;
    for (int64_t c = 1; c < 3; ++c)
      if (p.get(3 * row + c) > p.get(3 * row + best)) best = c;
    y.set_int(row, row == 2 ? (best + 1) % 3 : best);
    loss -= std::log(p.get(3 * row + y.get_int(row)));
  }
  args.insert(args.begin() + 1, y);
  std::vector<Tensor> out = interpret(infer(model.module, "loss"), "loss.infer", args);
  EXPECT_NEAR(out.at(0).get(0), loss, 1e-5);
  EXPECT_EQ(out.at(1).get(0), 5);
  EXPECT_EQ(out.at(2).get(0), 4);
}

TEST(Nn, AUsersFileGetsWhatItLacks) {
  auto text = std::make_shared<SourceText>(SourceText{"user.tir", R"(
func @f(%x: f32[B, 4] input, %w: f32[4, 3] param, %b: f32[3] param) -> f32[B, 3] {
  %h = matmul %x, %w
  %y = add %h, %b
  return %y
}
)"});
  nn::Model model = nn::make_model(parse(text), "f", {});
  verify(model.module);
  EXPECT_EQ(model.net, "f");
  EXPECT_EQ(model.module.find(model.loss)->results.size(), 3u);
  std::vector<nn::Variable> variables = nn::default_variables(*model.module.find("f"));
  EXPECT_EQ(variables[0].init.scale, 0.5);  // 4 rows feed one column
  EXPECT_EQ(variables[1].init.scale, 0);
}

std::string mistake(const nn::Problem& problem, const nn::NetFunction& net) {
  try {
    nn::make_model(problem, net);
  } catch (const CompileError& e) {
    return e.what();
  }
  return "none";
}

TEST(Nn, MistakesNameTheLineOfTheLayer) {
  auto twice = [](nn::Layers& l, Value* x) { return l.linear("fc", l.linear("fc", x, 4), 4); };
  std::string text = mistake({.input = {4}}, twice);
  EXPECT_NE(text.find("two parameters are named %fc.weight"), std::string::npos) << text;
  EXPECT_NE(text.find("nn_test.cpp"), std::string::npos) << text;
  auto open = [](nn::Layers& l, Value* x) { return l.linear("fc", x, 4); };
  text = mistake({.input = {Dim::symbol("T")}}, open);
  EXPECT_NE(text.find("[linear] axis 1 of f32[B, T] must have a known size"), std::string::npos)
      << text;
  text = mistake({.input = {4}, .loss = {.kind = "cros_entropy"}}, open);
  EXPECT_NE(text.find("unknown loss `cros_entropy`, did you mean `cross_entropy`?"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace tapeless
