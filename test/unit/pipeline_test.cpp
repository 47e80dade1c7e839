// The table of contents: what a pipeline runs and what `tapeless opt --passes` runs is the same,
// and a bug in a pass leaves the command that meets it again.
#include "tapeless/compiler/pipeline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tapeless/compiler/passes.h"
#include "tapeless/compiler/training.h"
#include "tapeless/ir/print.h"
#include "tapeless/support/check.h"
#include "tapeless/text/parse.h"

namespace tapeless {
namespace {

Module parse_text(const std::string& text) {
  return parse(std::make_shared<SourceText>(SourceText{"test", text}));
}

Module linear_loss() {
  return parse_text(R"(func @loss(%x: f32[B<=8, 4] input, %y: i32[B] input, %w: f32[3, 4] param,
                                  %b: f32[3] param) -> (sum: f32[], weight: f32[]) {
    %h = matmul %x, %w {transpose_b = true}
    %d = dropout %h {rate = 0.5}
    %z = add %d, %b
    %s, %n = cross_entropy %z, %y
    return %s, %n
  })");
}

PipelineJob linear_job() {
  PipelineJob job;
  job.names.loss = "loss";
  job.step.loss = "loss.train";
  job.step.optimizer = "adamw";
  job.step.settings = {{"lr", 0.25}};
  job.step.clip_norm = 1.5;
  job.step.groups.resize(1);
  job.step.groups[0] = {.name = "still", .patterns = {"b"}, .frozen = true};
  job.choices.bf16 = true;
  job.choices.memory_limit = 1 << 20;
  return job;
}

const Pass& pass_named(std::string_view name) {
  for (const Pass& pass : all_passes())
    if (pass.name == name) return pass;
  throw std::runtime_error("no pass " + std::string(name));
}

TEST(Pipeline, OptionsAsTextDoWhatThePipelineDoes) {
  PipelineJob job = linear_job();
  Module module = linear_loss();
  for (std::string_view name : training_pipeline()) {
    const Pass& pass = pass_named(name);
    std::string text(name);
    if (pass.options_for != nullptr) text += "{" + pass.options_for(module, job) + "}";
    module = parse_text(print(module));  // both name values alike
    Module by_text = run_passes(parse_text(print(module)), text);
    module = pass.run_for(module, job);
    EXPECT_EQ(by_text.stage, module.stage) << text;
    if (name == "attach") {
      EXPECT_EQ(print(*by_text.get("train_step")), print(*module.get("train_step"))) << text;
    } else {
      EXPECT_EQ(print(by_text), print(module)) << text;
    }
  }
}

TEST(Pipeline, RunsWhatTheJobAsksFor) {
  auto passes = [](TrainingChoices choices) {
    TrainingModule built =
        build_training_module(linear_loss(), {.loss = "loss"}, linear_job().step, choices);
    std::vector<std::string> names;
    for (const PassRecord& p : built.passes) names.push_back(p.pass);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(passes({}), (Names{"specialize", "differentiate", "attach"}));
  EXPECT_EQ(passes({.bf16 = true, .memory_limit = 1 << 20}),
            (Names{"specialize", "lower_precision", "differentiate", "remat", "attach"}));
}

TEST(Pipeline, ABugLeavesAReproducer) {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / "tapeless_pipeline_test";
  fs::create_directories(folder);
  setenv("TMPDIR", folder.c_str(), 1);
  Module m = parse_text("func @f(%x: f32[4]) -> f32[4] {\n  return softmax %x\n}");
  m.stage = Stage::kSpecialized;
  PipelineJob job;
  constexpr std::string_view kTooEarly[] = {"fuse"};  // composites are not expanded
  try {
    run_pipeline(std::move(m), kTooEarly, job);
    ADD_FAILURE() << "fuse took a composite";
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("a reproducer is in " + folder.string()),
              std::string::npos)
        << e.what();
  }
  unsetenv("TMPDIR");
  std::stringstream text;
  for (const auto& file : fs::directory_iterator(folder))
    text << std::ifstream(file.path()).rdbuf();
  EXPECT_EQ(text.str().substr(0, text.str().find('\n')),
            "// RUN: tapeless opt %s --passes 'fuse{merge = true}'");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tapeless
