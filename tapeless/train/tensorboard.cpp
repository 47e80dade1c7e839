// TensorBoard's event files: protocol buffers in records with checksums.
//
// A record is: u64 length, u32 masked CRC of the length, the event, u32 masked CRC of the event.
// Event {1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary summary}
// Summary {1: repeated Value {1: string tag, 2: float simple_value}}
#include "tapeless/train/tensorboard.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>

#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"

namespace tapeless {

namespace {

enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_little(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

void put_tag(std::string& out, int field, WireType type) {
  put_varint(out, static_cast<uint64_t>(field << 3 | type));
}

void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_tag(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string new_event() {
  std::string event;
  put_tag(event, 1, kFixed64);
  put_little(event, std::bit_cast<uint64_t>(wall_time()), 8);
  return event;
}

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
    table[i] = crc;
  }
  return table;
}

// As the format has it, so that a CRC of data that hold CRCs stays useful.
uint32_t masked_crc(std::string_view data) {
  uint32_t crc = crc32c(data);
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

}  // namespace

uint32_t crc32c(std::string_view data) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = 0xffffffff;
  for (char c : data) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

TensorBoardWriter::TensorBoardWriter(const std::string& folder)
    : path_(folder + "/events.out.tfevents." + std::to_string(static_cast<int64_t>(wall_time())) +
            "." + std::to_string(::getpid()) + ".tapeless") {
  file_ = std::fopen(path_.c_str(), "ab");
  if (file_ == nullptr) data_error("cannot write {}: {}", path_, system_reason());
  std::string event = new_event();
  put_bytes(event, 3, "brain.Event:2");
  record(event);
}

TensorBoardWriter::~TensorBoardWriter() { std::fclose(file_); }

void TensorBoardWriter::scalar(std::string_view tag, int64_t step, double value) {
  std::string entry;
  put_bytes(entry, 1, tag);
  put_tag(entry, 2, kFixed32);
  put_little(entry, std::bit_cast<uint32_t>(static_cast<float>(value)), 4);
  std::string summary;
  put_bytes(summary, 1, entry);
  std::string event = new_event();
  put_tag(event, 2, kVarint);
  put_varint(event, static_cast<uint64_t>(step));
  put_bytes(event, 5, summary);
  record(event);
}

void TensorBoardWriter::record(const std::string& event) {
  std::string length;
  put_little(length, event.size(), 8);
  std::string bytes = length;
  put_little(bytes, masked_crc(length), 4);
  bytes += event;
  put_little(bytes, masked_crc(event), 4);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) < bytes.size())
    data_error("cannot write {}: {}", path_, system_reason());
}

void TensorBoardWriter::flush() {
  if (std::fflush(file_) != 0) data_error("cannot write {}: {}", path_, system_reason());
}

}  // namespace tapeless
