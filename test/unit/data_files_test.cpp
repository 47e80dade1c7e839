// IDX files and image datasets: real ones, and every way in which one can be wrong.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tapeless/data/find_data.h"
#include "tapeless/data/idx.h"
#include "tapeless/data/image_data.h"
#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"

namespace tapeless {
namespace {

std::string idx(uint8_t type, const std::vector<uint8_t>& extents, const std::string& elements) {
  std::string text = {0, 0, static_cast<char>(type), static_cast<char>(extents.size())};
  for (uint8_t extent : extents) text += std::string(3, '\0') + static_cast<char>(extent);
  return text + elements;
}

class DataFiles : public testing::Test {
 protected:
  void SetUp() override { make_folder(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string put(const std::string& name, const std::string& content) const {
    write_file(path(name), content);
    return path(name);
  }
  std::string put_gzipped(const std::string& name, const std::string& content) const {
    gzFile file = gzopen(path(name).c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
    return path(name);
  }
  // A dataset of two training images and one test image, 2 x 2.
  void put_dataset(const std::string& train_labels = {3, 1}) const {
    put("train-images-idx3-ubyte", idx(8, {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
    put("train-labels-idx1-ubyte", idx(8, {2}, train_labels));
    put("t10k-images-idx3-ubyte", idx(8, {1, 2, 2}, "\xff\xff\xff\xff"));
    put("t10k-labels-idx1-ubyte", idx(8, {1}, {2}));
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
  void expect_dataset_error(const std::string& expected, ImageDataOptions options = {}) const {
    options.dir = folder_;
    options.name = "toy";
    expect_error([&] { load_image_data(options); }, expected);
  }

  std::string folder_ =
      (std::filesystem::temp_directory_path() / ("data-" + std::to_string(::getpid()))).string();
};

TEST_F(DataFiles, ElementTypes) {
  EXPECT_EQ(read_idx(put("a", idx(8, {1, 2}, "\xff\x01"))).str(),
            Tensor::from<int>(DType::kU8, {1, 2}, std::vector<int>{255, 1}).str());
  EXPECT_EQ(read_idx(put("a", idx(9, {1}, "\xff"))).get_int(0), -1);
  EXPECT_EQ(read_idx(put("a", idx(11, {1}, {'\xff', '\xfe'}))).get_int(0), -2);
  EXPECT_EQ(read_idx(put("a", idx(12, {1}, {0, 0, 1, 2}))).get_int(0), 258);
  EXPECT_EQ(read_idx(put("a", idx(13, {1}, {'\x3f', '\x80', 0, 0}))).get(0), 1);
  EXPECT_EQ(read_idx(put("a", idx(14, {1}, {'\x3f', '\xf0', 0, 0, 0, 0, 0, 0}))).get(0), 1);
}

TEST_F(DataFiles, DamagedIdx) {
  std::string good = idx(8, {3}, "abc");
  EXPECT_EQ(read_idx(put_gzipped("good.gz", good)).get_int(2), 'c');
  expect_error([&] { read_idx(path("none")); }, "cannot open");
  expect_error([&] { read_idx(put("a", "hello there")); }, "not an IDX file");
  expect_error([&] { read_idx(put("a", "")); }, "not an IDX file");
  expect_error([&] { read_idx(put("a", idx(7, {1}, "a"))); }, "not an IDX file");
  expect_error([&] { read_idx(put("a", idx(8, {}, "a"))); }, "not an IDX file");
  expect_error([&] { read_idx(put("a", idx(8, {3}, "ab"))); },
               "truncated: shorter than its header says");
  expect_error([&] { read_idx(put("a", good.substr(0, 6))); }, "shorter than its header says");
  expect_error([&] { read_idx(put("a", idx(8, {3}, "abcd"))); }, "longer than its header says");
  expect_error(
      [&] { read_idx(put("a", std::string("\0\0\x08\x03", 4) + std::string(12, '\x7f'))); },
      "shorter than its header says");
  std::string gzipped = read_text_file(path("good.gz"));
  expect_error([&] { read_idx(put("a", gzipped.substr(0, gzipped.size() - 9))); },
               "truncated: the compressed data end early");
  gzipped[gzipped.size() - 6] ^= 1;
  expect_error([&] { read_idx(put("a", gzipped)); }, "damaged: ");
}

TEST_F(DataFiles, RandomDamageNeverCrashes) {
  std::string good = idx(12, {4, 5}, std::string(80, '\x11'));
  put_gzipped("good.gz", good);
  std::string gzipped = read_text_file(path("good.gz"));
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    std::string bad = round % 2 == 0 ? good : gzipped;
    for (int i = 0; i < 1 + round % 3; ++i)
      bad[random() % bad.size()] = static_cast<char>(random());
    if (round % 3 == 0) bad.resize(random() % bad.size());
    try {
      std::ofstream(path("bad")) << bad;
      read_idx(path("bad"));
    } catch (const DataError&) {
    }
  }
}

TEST_F(DataFiles, ToyDataset) {
  put_dataset();
  ImageDataOptions options;
  options.dir = folder_;
  options.name = "toy";
  options.normalization = {{0.5}, {0.25}};
  ImageData data = load_image_data(options);
  EXPECT_EQ(data.classes, 4);
  Batch batch;
  data.test->gather(std::vector<int64_t>{0}, batch);
  EXPECT_EQ(batch.tensors[0].str(),
            Tensor::from<int>(DType::kF32, {1, 1, 2, 2}, std::vector<int>{2, 2, 2, 2}).str());
  data.train->gather(std::vector<int64_t>{1, 0}, batch);
  EXPECT_EQ(batch.tensors[1].get_int(0), 1);
  EXPECT_EQ(batch.tensors[0].get(1), double((5 / 255.0F - 0.5F) / 0.25F));
  options.limit = 1;
  EXPECT_EQ(load_image_data(options).train->rows(), 1);
}

TEST_F(DataFiles, WrongDatasets) {
  ::setenv("TAPELESS_DATA", path("elsewhere").c_str(), 1);
  expect_dataset_error(
      ". Set `dir` in the recipe or TAPELESS_DATA, or install Debian's package dataset-toy");
  ::unsetenv("TAPELESS_DATA");
  put("train-images-idx3-ubyte", idx(8, {1, 2, 2}, "abcd"));
  expect_dataset_error("holds neither");
  put_dataset("\x03\x09");
  ImageDataOptions options;
  options.classes = 9;
  expect_dataset_error("row 1 has the label 9, which is not in [0, 9)", options);
  put("t10k-labels-idx1-ubyte", idx(8, {1}, "\x63"));
  expect_dataset_error("row 0 has the label 99, which is not in [0, 10)");
  put_dataset("abc");
  expect_dataset_error("train-labels-idx1-ubyte: longer than");
  put("train-labels-idx1-ubyte", idx(8, {3}, "abc"));
  expect_dataset_error("3 labels in");
  expect_dataset_error(", but 2 images in");
  put("train-labels-idx1-ubyte", idx(8, {2, 1}, "ab"));
  expect_dataset_error(": labels must be integers of rank 1, not u8[2, 1]");
  put("train-images-idx3-ubyte", idx(8, {2}, "ab"));
  expect_dataset_error(": images must be u8[N, height, width], not u8[2]");
  put_dataset();
  options.size = {28, 28};
  expect_dataset_error(": images of 2 x 2, 28 x 28 expected", options);
  options = {};
  options.normalization.mean = {1, 2};
  expect_dataset_error("`x` has 1 channels, its normalisation 2", options);
  put("t10k-images-idx3-ubyte", idx(8, {1, 1, 4}, "abcd"));
  expect_dataset_error("t10k-images-idx3-ubyte holds u8[1, 1, 1, 4]");
  put("train-images-idx3-ubyte", idx(8, {0, 2, 2}, ""));
  put("train-labels-idx1-ubyte", idx(8, {0}, ""));
  expect_dataset_error(": no images");
}

TEST(RealData, FashionMnist) {
  ::unsetenv("TAPELESS_DATA");
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  ImageData data = load_image_data({});
  EXPECT_EQ(data.train->rows(), 60000);
  EXPECT_EQ(data.test->rows(), 10000);
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(data.train->fields()[0].row, (Extents{1, 28, 28}));
}

}  // namespace
}  // namespace tapeless
