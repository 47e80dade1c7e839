// Safetensors: round trips, and files that are cut, changed or lie.
#include "tapeless/import/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"

namespace tapeless {
namespace {

class SafetensorsTest : public testing::Test {
 protected:
  void SetUp() override { make_folder(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // The message of the error that reading a file of this content raises.
  std::string message(const std::string& content) const {
    write_file(path("bad.safetensors"), content);
    try {
      read_safetensors(path("bad.safetensors"));
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }
  static std::string with_header(const std::string& header, const std::string& data = "") {
    uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
  }
  void expect_error(const std::string& header, size_t data, const std::string& expected) const {
    std::string got = message(with_header(header, std::string(data, '\0')));
    EXPECT_NE(got.find(expected), std::string::npos) << got;
  }

  std::string folder_ =
      (std::filesystem::temp_directory_path() / ("safetensors-" + std::to_string(::getpid())))
          .string();
};

TEST_F(SafetensorsTest, RoundTripOfEveryDType) {
  TensorMap tensors;
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI32, DType::kI64,
                      DType::kU8, DType::kBool}) {
    Tensor t(dtype, {3, 5});
    for (int64_t i = 0; i < t.numel(); ++i) t.set(i, dtype == DType::kBool ? i % 2 : i);
    tensors.emplace(std::string(dtype_name(dtype)), t);
  }
  tensors.emplace("scalar", Tensor::scalar(DType::kF32, 2.5));
  tensors.emplace("empty", Tensor(DType::kF32, {0, 7}));
  tensors.emplace("odd \"name\"\n", Tensor(DType::kU8, {1}));
  write_safetensors(path("a.safetensors"), tensors, {{"format", "pt"}, {"note", "ü"}});
  Safetensors read = read_safetensors(path("a.safetensors"));
  EXPECT_EQ(read.metadata.at("note"), "ü");
  ASSERT_EQ(read.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors)
    EXPECT_TRUE(same_bits(tensor, read.tensors.at(name))) << name;
}

TEST_F(SafetensorsTest, StridedIsWrittenDenseAndViewsArePrivate) {
  Tensor base = Tensor::from<int>(DType::kF32, {2, 3}, std::vector<int>{1, 2, 3, 4, 5, 6});
  Tensor transposed = Tensor::view(DType::kF32, {3, 2}, {1, 3}, base.raw());
  write_safetensors(path("a.safetensors"), {{"t", transposed}});
  Tensor read = read_safetensors(path("a.safetensors")).tensors.at("t");
  EXPECT_EQ(read.get(1), 4);
  read.set(0, 99);
  EXPECT_EQ(read_safetensors(path("a.safetensors")).tensors.at("t").get(0), 1);
}

TEST_F(SafetensorsTest, LyingHeaders) {
  expect_error("x", 0, "not a safetensors file: the header is not JSON");
  expect_error("{\"a\": ", 0, "the header is not valid JSON:");
  expect_error("{\"a\": 1}", 0, "tensor `a` is not described by an object");
  expect_error(R"({"a": {"dtype": "F32", "shape": [1]}})", 4, "`a` has no data_offsets");
  expect_error(R"({"a": {"dtype": "F8_E5M2", "shape": [1], "data_offsets": [0, 1]}})", 1,
               "` has the unsupported dtype F8_E5M2");
  expect_error(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", 4,
               "that is not a list of sizes");
  expect_error(R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296, 4294967296],
                   "data_offsets": [0, 4]}})",
               4, "tensor `a` is too large");
  expect_error(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})", 4,
               "tensor `a` has data_offsets that are not [begin, end]");
  expect_error(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})", 4,
               "bytes of data, its dtype and shape need 8");
  expect_error(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                   "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})",
               12, "`b` overlaps the one before it");
  expect_error(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", 8,
               "bytes 0 to 4 belong to no tensor");
  expect_error(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", 8,
               "bytes follow the last tensor");
  expect_error(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", 3,
               "truncated: the tensors need 4 bytes, the file has 3");
  expect_error(R"({"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]},
                   "a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}})",
               0, "`a` occurs twice");
  expect_error(R"({"__metadata__": []})", 0, "__metadata__ is not an object");
  expect_error(R"({"__metadata__": {"a": 1}})", 0, "__metadata__ `a` is not a string");
  expect_error("{\"a\": [[[[[[[[1]]]]]]]]}", 0, "the header is nested too deep");
  EXPECT_NE(message("abc").find("not a safetensors file: 3 bytes"), std::string::npos);
  EXPECT_NE(message(with_header("{}").substr(0, 9)).find("truncated: the header has"),
            std::string::npos);
  EXPECT_NE(message(std::string(8, '\xff')).find("not a safetensors file: a header of"),
            std::string::npos);
  std::string bad_bool = R"({"a": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}})";
  EXPECT_NE(
      message(with_header(bad_bool, "\2")).find("tensor `a` holds a bool that is neither 0 nor 1"),
      std::string::npos);
}

TEST_F(SafetensorsTest, WhatCannotBeWritten) {
  auto error = [&](const std::string& file, const TensorMap& tensors) -> std::string {
    try {
      write_safetensors(path(file), tensors);
    } catch (const DataError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(error("a", {{"__metadata__", Tensor(DType::kU8, {1})}})
                .find("a tensor may not be named __metadata__"),
            std::string::npos);
  EXPECT_NE(error("a", {{"k", Tensor(DType::kKey, {})}}).find("safetensors has no dtype for key"),
            std::string::npos);
  EXPECT_NE(error("missing/a", {}).find("cannot write"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(SafetensorsTest, MisalignedDataIsCopied) {
  std::string data(5, '\0');
  float one = 1;
  std::memcpy(data.data() + 1, &one, 4);
  std::string header = R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
                           "b": {"dtype": "F32", "shape": [1], "data_offsets": [1, 5]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  write_file(path("a.safetensors"), with_header(header, data));
  EXPECT_EQ(read_safetensors(path("a.safetensors")).tensors.at("b").get(0), 1);
}

TEST_F(SafetensorsTest, DamagedFilesNeverCrash) {
  write_safetensors(path("a.safetensors"),
                    {{"w", Tensor(DType::kF32, {4, 4})}, {"flag", Tensor(DType::kBool, {3})}});
  std::string good = read_text_file(path("a.safetensors"));
  std::mt19937 random(7);
  for (int round = 0; round < 1000; ++round) {
    std::string bad = good;
    for (int i = 0; i < 1 + round % 4; ++i) bad[random() % bad.size()] = char(random());
    if (round % 3 == 0) bad.resize(random() % bad.size());
    std::ofstream(path("bad.safetensors")) << bad;
    try {
      for (auto& [name, t] : read_safetensors(path("bad.safetensors")).tensors) t.str();
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace tapeless
