#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tapeless {

// Files as the readers and writers of Tapeless need them. Every failure is a DataError that names
// the file and the system's reason.

std::string read_text_file(const std::string& path);

/// A whole file in memory. Pages are private: writing to them never reaches the file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// A file that appears whole or not at all: written beside its place, synced, then renamed. Without
/// `commit` the part written is removed and an older file of that name is as it was.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::string path_;
  std::string beside_;
  int descriptor_ = -1;
};

void write_file(const std::string& path, std::string_view text);

/// With its parents; fine where it exists.
void make_folder(const std::string& path);
/// Makes names in the folder (created, renamed) durable.
void sync_folder(const std::string& path);
/// `strerror(errno)` of the last call.
std::string system_reason();

}  // namespace tapeless
