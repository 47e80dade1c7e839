// How often code is generated: once for all batch sizes and all learning rates. Counted by the
// object files that arrive in a cache of the test's own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tapeless/train/trainer.h"

namespace tapeless {
namespace {

namespace fs = std::filesystem;

class CompileCount : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    setenv("TAPELESS_CACHE", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TAPELESS_CACHE");
    fs::remove_all(folder_);
  }

  int objects() const {
    int count = 0;
    for (const auto& file : fs::directory_iterator(folder_)) count += file.path() != folder_;
    return count;
  }

  // 600 rows by 256: the last batch of an epoch has 88.
  static Recipe recipe() {
    Recipe r;
    r.name = "count";
    r.model.kind = "mlp";
    r.model.hidden = 8;
    r.data.kind = "random";
    r.data.rows = 600;
    r.data.features = 6;
    r.data.classes = 3;
    r.optimizer.name = "adamw";
    r.optimizer.settings = {{"lr", 0.1, {}}};
    r.schedule.kind = "cosine";
    r.schedule.warmup_epochs = 1;
    r.train.batch = 256;
    r.train.epochs = 3;
    r.eval.batch = 100;
    return r;
  }

  fs::path folder_ = fs::temp_directory_path() / "tapeless_compile_count_test";
};

TEST_F(CompileCount, OneCompileServesPartialBatchesAndEveryLearningRate) {
  Trainer trainer(recipe());
  const CompileReport& report = trainer.session().executable().report();
  EXPECT_GT(report.kernels, 0);
  EXPECT_EQ(report.kernels_compiled, report.kernels);
  EXPECT_EQ(objects(), report.kernels);
  EXPECT_EQ(trainer.train().steps, 9);
  EXPECT_EQ(objects(), report.kernels);
}

TEST_F(CompileCount, AnotherBatchSizeAndRateGenerateNothing) {
  Trainer first(recipe());
  int before = objects();
  Recipe other = recipe();
  other.train.batch = 32;
  other.eval.batch = 7;
  other.optimizer.settings = {{"lr", 0.003, {}}, {"beta1", 0.8, {}}};
  Trainer second(other);
  second.train();
  EXPECT_EQ(second.session().executable().report().kernels_compiled, 0);
  EXPECT_EQ(objects(), before);
}

// The passes of both pipelines are noted once each, in their order.
TEST_F(CompileCount, ReportsItsPasses) {
  Trainer trainer(recipe());
  std::vector<std::string> names;
  for (const PassRecord& p : trainer.session().executable().report().passes) {
    names.push_back(p.pass);
    EXPECT_GE(p.seconds, 0);
    EXPECT_TRUE(p.text.empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"inline_calls", "collect_checks", "simplify",
                                             "expand_composites", "simplify", "fuse", "schedule",
                                             "codegen"}));
}

}  // namespace
}  // namespace tapeless
