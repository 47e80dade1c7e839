// Files: atomic writes, and the reasons given when one cannot be read or written.
#include "tapeless/support/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tapeless/support/diagnostics.h"

namespace tapeless {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override { make_folder(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  template <class F>
  static void expect_error(F&& f, const std::string& expected) {
    try {
      f();
      ADD_FAILURE() << "no error: " << expected;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }

  std::string folder_ =
      (std::filesystem::temp_directory_path() / ("file-" + std::to_string(::getpid()))).string();
};

TEST_F(FileTest, AppearsWholeOrNotAtAll) {
  std::string path = folder_ + "/a";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("half");
  }
  EXPECT_EQ(read_text_file(path), "old");
  write_file(path, "new");
  EXPECT_EQ(MappedFile(path).text(), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, Reasons) {
  write_file(folder_ + "/file", "");
  std::filesystem::create_directories(folder_ + "/full/inside");
  expect_error([&] { read_text_file(folder_ + "/none"); }, "cannot open");
  expect_error([&] { read_text_file(folder_); }, ": not a regular file");
  expect_error([&] { make_folder(folder_ + "/file"); }, "cannot make the folder");
  expect_error([&] { write_file(folder_ + "/full", "x"); }, "cannot replace");
  expect_error([&] { write_file(folder_ + "/none/x", "x"); }, "cannot write");
}

}  // namespace
}  // namespace tapeless
