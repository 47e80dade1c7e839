// The IDX format: 0, 0, element type, rank, then the extents and the elements, big-endian.
#include "tapeless/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"

namespace tapeless {

namespace {

constexpr int kMaxRank = 8;
// Deflate makes data at most 1032 times smaller, so a header may promise no more than this.
constexpr int64_t kMaxRatio = 1032;

struct ElementType {
  uint8_t code;
  int bytes;
  DType dtype;
};
constexpr ElementType kElementTypes[] = {
    {0x08, 1, DType::kU8},  {0x09, 1, DType::kI32}, {0x0b, 2, DType::kI32},
    {0x0c, 4, DType::kI32}, {0x0d, 4, DType::kF32}, {0x0e, 8, DType::kF64},
};

class IdxReader {
 public:
  explicit IdxReader(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    std::error_code error;
    size_ = static_cast<int64_t>(std::filesystem::file_size(path, error));
    if (file_ == nullptr || error)
      data_error("cannot open {}: {}", path, error ? error.message() : system_reason());
    gzbuffer(file_.get(), 1 << 18);
  }

  Tensor read() {
    std::array<uint8_t, 4> magic{};
    if (read_some(magic.data(), 4) < 4 || magic[0] != 0 || magic[1] != 0) fail("not an IDX file");
    const ElementType& type = element_type(magic[2]);
    Extents shape = extents(magic[3], type.bytes);
    Tensor result(type.dtype, shape);
    int64_t bytes = result.numel() * type.bytes;
    if (type.bytes == dtype_size(type.dtype)) {
      read_exactly(result.raw(), bytes);
      swap_bytes(static_cast<uint8_t*>(result.raw()), bytes, type.bytes);
    } else {
      widen(result, type.bytes);
    }
    uint8_t extra = 0;
    if (read_some(&extra, 1) != 0) fail("longer than its header says");
    return result;
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };

  [[noreturn]] void fail(const std::string& reason) const {
    throw DataError(path_ + ": " + reason);
  }

  const ElementType& element_type(uint8_t code) const {
    for (const ElementType& type : kElementTypes)
      if (type.code == code) return type;
    fail("not an IDX file");
  }

  Extents extents(int rank, int64_t bytes) {
    if (rank < 1 || rank > kMaxRank) fail("not an IDX file");
    Extents shape;
    for (int axis = 0; axis < rank; ++axis) {
      std::array<uint8_t, 4> big{};
      read_exactly(big.data(), 4);
      shape.push_back(int64_t{big[0]} << 24 | big[1] << 16 | big[2] << 8 | big[3]);
      if (shape.back() > 0 && bytes > size_ * kMaxRatio / shape.back())
        fail("truncated: shorter than its header says");
      bytes *= shape.back();
    }
    return shape;
  }

  int64_t read_some(void* to, int64_t bytes) {
    int64_t done = 0;
    while (done < bytes) {
      auto chunk = static_cast<unsigned>(std::min<int64_t>(bytes - done, 1 << 30));
      int got = gzread(file_.get(), static_cast<char*>(to) + done, chunk);
      int code = Z_OK;
      const char* reason = gzerror(file_.get(), &code);
      if (got < 0 && code != Z_BUF_ERROR)
        fail(std::string("damaged: ") + (code == Z_ERRNO ? system_reason().c_str() : reason));
      if (code == Z_BUF_ERROR) fail("truncated: the compressed data end early");
      if (got <= 0) break;
      done += got;
    }
    return done;
  }

  void read_exactly(void* to, int64_t bytes) {
    if (read_some(to, bytes) < bytes) fail("truncated: shorter than its header says");
  }

  static void swap_bytes(uint8_t* data, int64_t bytes, int width) {
    if (width == 1) return;
    for (uint8_t* end = data + bytes; data < end; data += width)
      for (int i = 0; i < width / 2; ++i) std::swap(data[i], data[width - 1 - i]);
  }

  void widen(Tensor& result, int width) {
    std::vector<uint8_t> raw(static_cast<size_t>(result.numel() * width));
    read_exactly(raw.data(), static_cast<int64_t>(raw.size()));
    int32_t* to = result.data<int32_t>();
    for (size_t i = 0; i < raw.size(); i += static_cast<size_t>(width))
      *to++ =
          width == 1 ? static_cast<int8_t>(raw[i]) : static_cast<int16_t>(raw[i] << 8 | raw[i + 1]);
  }

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  int64_t size_ = 0;
};

}  // namespace

Tensor read_idx(const std::string& path) { return IdxReader(path).read(); }

}  // namespace tapeless
