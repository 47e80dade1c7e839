// Recipes: what they say, what overrides change, and where mistakes are reported.
#include "tapeless/train/recipe.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace tapeless {
namespace {

constexpr const char* kGood = R"(
[model]
kind = "cnn"
[optimizer]
name = "adamw"
lr = 1e-3
nesterov = true
[[groups]]
patterns = ["*.bias", "bn*"]
weight_decay = 0
)";

Recipe parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_recipe(std::make_shared<SourceText>(SourceText{"r.toml", text}), overrides);
}

// All messages, a line each, without the text that the carets point into.
std::string errors(const std::string& text, const std::vector<std::string>& overrides = {}) {
  std::string all;
  try {
    parse(text, overrides);
  } catch (const CompileError& error) {
    for (const Diagnostic& d : error.diagnostics()) all += d.loc.str() + ": " + d.message + "\n";
  }
  return all;
}
std::string errors_with_model(const std::string& text) {
  return errors("model.kind = \"cnn\"\n" + text);
}

TEST(Recipe, TypedValuesAndSettings) {
  Recipe r = parse(kGood);
  EXPECT_EQ(r.name, "r");
  EXPECT_EQ(r.model.kind, "cnn");
  EXPECT_EQ(r.optimizer.name, "adamw");
  ASSERT_EQ(r.optimizer.settings.size(), 2U);
  EXPECT_EQ(std::get<double>(r.optimizer.settings[0].value), 1e-3);
  EXPECT_EQ(std::get<bool>(r.optimizer.settings[1].value), true);
  EXPECT_EQ(r.optimizer.settings[1].loc.str(), "r.toml:7:12");
  ASSERT_EQ(r.groups.size(), 1U);
  EXPECT_EQ(r.groups[0].patterns[1], "bn*");
  EXPECT_EQ(r.at("optimizer.name").str(), "r.toml:5:8");
  EXPECT_EQ(r.at("optimizer.update").line, 4);
  EXPECT_EQ(r.at("data.kind").line, 1);
  EXPECT_EQ(r.text, kGood);
}

TEST(Recipe, Overrides) {
  Recipe r = parse(
      kGood, {"train.batch=8", "optimizer.name=sgd", "optimizer.lr = 0.5", "data.mean=[0.5]"});
  EXPECT_EQ(r.train.batch, 8);
  EXPECT_EQ(r.optimizer.name, "sgd");
  EXPECT_EQ(std::get<double>(r.optimizer.settings[0].value), 0.5);
  EXPECT_EQ(r.data.mean, std::vector<double>{0.5});
  Recipe again = parse(r.text);
  EXPECT_EQ(again.train.batch, 8);
  EXPECT_EQ(again.text, r.text);
  EXPECT_EQ(errors(kGood, {"train.batch=0"}),
            "--set 1:1:13: `batch` must be a whole number of at least 1, not 0\n");
  EXPECT_EQ(errors(kGood, {"train.epochs=2", "train.bath=3"}),
            "--set 2:1:7: unknown key `bath` in [train], did you mean `batch`?\n");
  EXPECT_EQ(errors(kGood, {"batch"}), "--set 1:1:1: an override is KEY=VALUE, not `batch`\n");
}

TEST(Recipe, UnknownKeys) {
  EXPECT_EQ(errors_with_model("[train]\nepoch = 3"),
            "r.toml:3:1: unknown key `epoch` in [train], did you mean `epochs`?\n");
  EXPECT_EQ(errors_with_model("[trian]"),
            "r.toml:2:2: unknown section `trian`, did you mean `train`?\n");
  EXPECT_EQ(errors_with_model("[data]\nkind = \"random\"\nlimit = 3"),
            "r.toml:4:1: unknown key `limit` in [data] of kind random\n");
}

TEST(Recipe, WrongValues) {
  EXPECT_EQ(errors_with_model("[optimizer]\nlr = nan"),
            "r.toml:3:6: `lr` must be a number of at least 0, not nan\n");
  EXPECT_EQ(errors_with_model("[optimizer]\nlr = -1"),
            "r.toml:3:6: `lr` must be a number of at least 0, not -1\n");
  EXPECT_EQ(errors_with_model("[optimizer]\nbeta1 = inf\nclip_norm = -1"),
            "r.toml:4:13: `clip_norm` must be a number of at least 0, not -1\n"
            "r.toml:3:9: `beta1` must be a number, not inf\n");
  EXPECT_EQ(errors_with_model("[train]\nbatch = 2.5\nseed = -1"),
            "r.toml:3:9: `batch` must be a whole number of at least 1, not 2.5\n"
            "r.toml:4:8: `seed` must be a whole number of at least 0, not -1\n");
  EXPECT_EQ(errors_with_model("[data]\nvalidation = 2\nshuffle = 1\nname = 3"),
            "r.toml:5:8: `name` must be a string, not 3\n"
            "r.toml:3:14: `validation` must be a number from 0 to 0.9, not 2\n"
            "r.toml:4:11: `shuffle` must be true or false, not 1\n");
  EXPECT_EQ(errors_with_model("[schedule]\nkind = \"cosin\"\nend = 0"),
            "r.toml:3:8: `kind` must be one of constant, step, linear, cosine, polynomial, not "
            "'cosin'\n");
  EXPECT_EQ(errors_with_model("train = 3\ngroups = [1]"),
            "r.toml:2:9: `train` must be a table, not 3\n"
            "r.toml:3:10: `groups` must be a list of tables, not [ 1 ]\n");
  EXPECT_EQ(errors_with_model("[[groups]]\npatterns = [1]"),
            "r.toml:3:13: `patterns` must be a list of strings, not 1\n"
            "r.toml:2:1: a group has no `patterns`\n");
  EXPECT_EQ(errors_with_model("[train]\nbatch = 2000"),
            "r.toml:3:9: `batch` is 2000, above the model's max_batch of 1024\n");
}

TEST(Recipe, OneModel) {
  EXPECT_EQ(errors(""), "r.toml: a model is given by one of `kind` and `file` in [model]\n");
  EXPECT_EQ(errors("[model]\nkind = \"cnn\"\nfile = \"x.tir\"").substr(0, 31),
            "r.toml:3:8: a model is given by");
}

TEST(Recipe, BadToml) {
  std::string got = errors("[model\nkind = 1");
  EXPECT_EQ(got.find("r.toml:1:7: not valid TOML:"), 0U) << got;
}

TEST(Recipe, PathsAreRelativeToTheFile) {
  auto source = std::make_shared<SourceText>(
      SourceText{"/a/b/r.toml",
                 "[model]\nfile = \"../m.tir\"\n[optimizer]\nname = \"own.tir\"\n"
                 "[data]\ndir = \"data\""});
  Recipe r = parse_recipe(source);
  EXPECT_EQ(r.model.file, "/a/m.tir");
  EXPECT_EQ(r.optimizer.name, "/a/b/own.tir");
  EXPECT_EQ(r.data.dir, "/a/b/data");
  EXPECT_EQ(parse(r.text).model.file, "/a/m.tir");
}

TEST(Recipe, DamageNeverCrashes) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string text = kGood;
    for (int i = 0; i < 1 + round % 4; ++i)
      text[random() % text.size()] = static_cast<char>(random() % 128);
    errors(text);
  }
}

TEST(Recipe, ThoseOfTheProject) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TAPELESS_RECIPES)) {
    Recipe r = read_recipe(entry.path().string());
    EXPECT_EQ(r.name, entry.path().stem().string());
    ++count;
  }
  EXPECT_GE(count, 4);
}

}  // namespace
}  // namespace tapeless
