#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tapeless {

/// Writes scalars into a file that TensorBoard reads, `events.out.tfevents.*` in a run folder.
class TensorBoardWriter {
 public:
  explicit TensorBoardWriter(const std::string& folder);
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  void scalar(std::string_view tag, int64_t step, double value);
  void flush();

 private:
  void record(const std::string& event);

  std::string path_;
  std::FILE* file_ = nullptr;
};

/// The checksum of its records, the Castagnoli polynomial.
uint32_t crc32c(std::string_view data);

}  // namespace tapeless
