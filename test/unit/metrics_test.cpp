// What a run tells: metrics.jsonl, TensorBoard's files, progress in a log.
#include "tapeless/train/metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"
#include "tapeless/train/progress.h"
#include "tapeless/train/tensorboard.h"

namespace tapeless {
namespace {

namespace fs = std::filesystem;

class MetricsTest : public testing::Test {
 protected:
  void SetUp() override { make_folder(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_ =
      (fs::temp_directory_path() / ("metrics-" + std::to_string(::getpid()))).string();
  std::string path_ = folder_ + "/metrics.jsonl";
};

TEST_F(MetricsTest, LinesAreAsTheDesignSays) {
  {
    MetricsWriter writer(path_);
    writer.write(CompileEvent{0.5, 12, 3, 4096});
    writer.write(StepEvent{.step = 1, .epoch = 0, .loss = 2.5, .lr = 0.1, .items_per_s = 100});
    writer.write(EvalEvent{.step = 1, .epoch = 0, .loss = 2, .accuracy = 0.25, .seconds = 1});
    writer.write(DoneEvent{.step = 1, .epoch = 1, .seconds = 3, .loss = 2, .accuracy = 0.25});
  }
  EXPECT_EQ(read_text_file(path_),
            "{\"event\":\"compile\",\"seconds\":0.5,\"kernels\":12,\"cached\":3,"
            "\"arena_bytes\":4096}\n"
            "{\"event\":\"step\",\"step\":1,\"epoch\":0,\"loss\":2.5,\"lr\":0.1,"
            "\"items_per_s\":100.0}\n"
            "{\"event\":\"eval\",\"split\":\"test\",\"step\":1,\"epoch\":0,\"loss\":2.0,"
            "\"accuracy\":0.25,\"seconds\":1.0}\n"
            "{\"event\":\"done\",\"reason\":\"finished\",\"step\":1,\"epoch\":1,\"seconds\":3.0,"
            "\"loss\":2.0,\"accuracy\":0.25}\n");
}

TEST_F(MetricsTest, AResumedRunDropsWhatIsLater) {
  {
    MetricsWriter writer(path_);
    for (int64_t step = 1; step <= 5; ++step) writer.write(StepEvent{.step = step, .loss = 1});
    writer.write(EvalEvent{.step = 5});
  }
  write_file(path_, read_text_file(path_) + "{\"event\":\"st");
  {
    MetricsWriter(path_, 3).write(StepEvent{.step = 4, .loss = 7, .skipped = 2});
  }
  History history = read_metrics(path_);
  ASSERT_EQ(history.steps.size(), 4U);
  EXPECT_EQ(history.steps[3].loss, 7);
  EXPECT_EQ(history.steps[3].skipped, 2);
  EXPECT_TRUE(std::isnan(history.steps[3].lr));
  EXPECT_TRUE(history.evaluations.empty());
  EXPECT_TRUE(read_metrics(folder_ + "/none").steps.empty());
}

TEST_F(MetricsTest, CannotWrite) {
  EXPECT_THROW(MetricsWriter(folder_ + "/none/x"), DataError);
  EXPECT_THROW(TensorBoardWriter(folder_ + "/none"), DataError);
  EXPECT_THROW(MetricsWriter("/dev/full").write(CompileEvent{}), DataError);
}

TEST_F(MetricsTest, TensorBoardRecords) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283);
  {
    TensorBoardWriter writer(folder_);
    writer.scalar("loss", 300, 0.5);
    writer.flush();
  }
  std::string bytes = read_text_file(fs::directory_iterator(folder_)->path().string());
  // The head that every such file has: 24 bytes follow, and the masked CRC of that length.
  EXPECT_EQ(bytes.substr(0, 12), std::string("\x18\0\0\0\0\0\0\0\xa3\x7fK\"", 12));
  EXPECT_EQ(bytes.substr(21, 15),
            "\x1a\x0d"
            "brain.Event:2");
  std::string scalar = bytes.substr(12 + 24 + 4 + 12);
  EXPECT_EQ(scalar.substr(9, 3), "\x10\xac\x02");
  EXPECT_EQ(scalar.substr(12, 15), std::string("\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\0\x3f", 15));
  EXPECT_EQ(scalar.size(), 9U + 3 + 15 + 4);
}

TEST_F(MetricsTest, ProgressInALog) {
  std::FILE* out = std::fopen(path_.c_str(), "w");
  {
    Progress progress(out, 0, 10, 2);
    for (int64_t step = 1; step <= 10; ++step) progress.step(step, 0, 1.5, 64);
    progress.line("epoch 1/2 done");
  }
  std::fclose(out);
  EXPECT_EQ(read_text_file(path_), "epoch 1/2 done\n");
  EXPECT_EQ(clock_time(7), "0:07");
  EXPECT_EQ(clock_time(3723), "1:02:03");
}

}  // namespace
}  // namespace tapeless
