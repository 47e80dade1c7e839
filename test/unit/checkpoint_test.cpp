// Checkpoints: what goes in comes out; failures leave the old one; damage is found.
#include "tapeless/train/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"

namespace tapeless {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override { make_folder(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  static Checkpoint sample(int64_t step, int64_t elements = 6) {
    Tensor w(DType::kF32, {elements});
    for (int64_t i = 0; i < elements; ++i) w.set(i, static_cast<double>(i + step));
    RunState run{"toy", step, 1, 0xfedcba9876543210, {1, 64, 100, ~uint64_t{0}}, {{"best", 0.1}}};
    return {{{"w", w}}, {{"opt.w.m", w.clone()}}, run};
  }
  template <class F>
  static void expect_error(F&& f, const std::string& expected) {
    try {
      f();
      ADD_FAILURE() << "no error: " << expected;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
  void expect_load_error(const std::string& expected) const {
    expect_error([&] { load_checkpoint(last_); }, expected);
  }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  std::string folder_ =
      (fs::temp_directory_path() / ("checkpoint-" + std::to_string(::getpid()))).string();
  std::string last_ = folder_ + "/last";
};

TEST_F(CheckpointTest, RoundTripAndReplace) {
  save_checkpoint(last_, sample(1));
  save_checkpoint(last_, sample(2));
  Checkpoint read = load_checkpoint(last_);
  Checkpoint want = sample(2);
  EXPECT_TRUE(same_bits(read.model.at("w"), want.model.at("w")));
  EXPECT_TRUE(same_bits(read.optimizer.at("opt.w.m"), want.optimizer.at("opt.w.m")));
  EXPECT_EQ(read.run.name, "toy");
  EXPECT_EQ(read.run.step, 2);
  EXPECT_EQ(read.run.key, want.run.key);
  EXPECT_EQ(read.run.data, want.run.data);
  EXPECT_EQ(read.run.numbers, want.run.numbers);
  EXPECT_TRUE(load_checkpoint(last_, false).optimizer.empty());
  EXPECT_EQ(entries(), 1U);
}

// A full disk, played by a limit on the size of files.
TEST_F(CheckpointTest, AFailedSaveLeavesTheOldOne) {
  save_checkpoint(last_, sample(1));
  auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  rlimit limit{4096, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  expect_error([&] { save_checkpoint(last_, sample(2, 100000)); },
               "last was not saved: cannot write");
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(load_checkpoint(last_).run.step, 1);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(CheckpointTest, WhatCannotBeSaved) {
  write_file(folder_ + "/file", "");
  expect_error([&] { save_checkpoint(folder_ + "/file/last", sample(1)); }, "the checkpoint");
  expect_error([&] { save_checkpoint(folder_, sample(1)); },
               "exists and is not a checkpoint: it is left alone");
}

TEST_F(CheckpointTest, FoundAfterACrashBetweenTwoRenames) {
  save_checkpoint(last_, sample(3));
  fs::rename(last_, last_ + ".old");
  EXPECT_EQ(load_checkpoint(last_).run.step, 3);
}

TEST_F(CheckpointTest, Damage) {
  expect_load_error("is not a checkpoint: it has no run.json");
  save_checkpoint(last_, sample(1));
  std::string model = read_text_file(last_ + "/model.safetensors");
  std::string run = read_text_file(last_ + "/run.json");
  model.back() ^= 1;
  write_file(last_ + "/model.safetensors", model);
  expect_load_error("model.safetensors is damaged: it is not as it was saved");
  fs::remove(last_ + "/model.safetensors");
  expect_load_error("is incomplete: it has no model.safetensors");
  write_file(last_ + "/run.json", run.substr(0, run.size() / 2));
  expect_load_error("run.json is damaged: ");
  write_file(last_ + "/run.json", "[]");
  expect_load_error("has format 0, this version reads format 1");
  write_file(last_ + "/run.json", "{\"format\": 1, \"name\": \"x\", \"step\": \"y\"}");
  expect_load_error("run.json is damaged: ");
}

TEST_F(CheckpointTest, DamagedRunsNeverCrash) {
  save_checkpoint(last_, sample(1));
  std::string good = read_text_file(last_ + "/run.json");
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::string bad = good;
    for (int i = 0; i <= round % 3; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    std::ofstream(last_ + "/run.json") << bad;
    try {
      load_checkpoint(last_);
    } catch (const DataError&) {
    }
  }
}

TEST_F(CheckpointTest, TensorsOfAnotherModel) {
  TensorMap expected{{"a", Tensor(DType::kF32, {2})}, {"b", Tensor(DType::kF32, {2})}};
  TensorMap have{{"a", Tensor(DType::kF32, {3})}, {"c", Tensor(DType::kF32, {2})}};
  check_tensors("x", expected, expected);
  expect_error([&] { check_tensors("x", have, expected); },
               "x is of another model: `a` is f32[3], expected f32[2]; `b` is missing; `c` is not "
               "known");
  for (int i = 0; i < 20; ++i) have.emplace("more" + std::to_string(i), Tensor(DType::kU8, {1}));
  expect_error([&] { check_tensors("x", have, expected); }, "and 15 more");
}

}  // namespace
}  // namespace tapeless
