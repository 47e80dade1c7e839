// Small images as PNG, for pages that need no other file.
#include "tapeless/train/png.h"

#include <zlib.h>

namespace tapeless {

namespace {

void put_big(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}

// length, type, data, CRC-32 of type and data
void put_chunk(std::string& out, const std::string& type, const std::string& data) {
  put_big(out, static_cast<uint32_t>(data.size()));
  std::string body = type + data;
  out += body;
  put_big(out, static_cast<uint32_t>(
                   crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size())));
}

std::string deflated(const std::string& raw) {
  uLongf size = compressBound(raw.size());
  std::string out(size, '\0');
  int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(raw.data()), raw.size(), 9);
  TL_CHECK(code == Z_OK);
  out.resize(size);
  return out;
}

}  // namespace

std::string encode_png(const Tensor& pixels) {
  int rank = pixels.rank();
  int64_t channels = rank == 3 ? pixels.dim(0) : 1;
  TL_CHECK(pixels.dtype() == DType::kU8 && (rank == 2 || rank == 3) && pixels.is_dense() &&
           (channels == 1 || channels == 3));
  int64_t height = pixels.dim(rank - 2), width = pixels.dim(rank - 1);
  std::string rows;
  for (int64_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c)
        rows += static_cast<char>(pixels.data<uint8_t>()[(c * height + y) * width + x]);
  }
  std::string header;
  put_big(header, static_cast<uint32_t>(width));
  put_big(header, static_cast<uint32_t>(height));
  header += {8, static_cast<char>(channels == 3 ? 2 : 0), 0, 0, 0};
  std::string png = "\x89PNG\r\n\x1a\n";
  put_chunk(png, "IHDR", header);
  put_chunk(png, "IDAT", deflated(rows));
  put_chunk(png, "IEND", "");
  return png;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      out += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

}  // namespace tapeless
