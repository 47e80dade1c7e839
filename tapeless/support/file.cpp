// Files: reading whole, mapping, and writing so that a crash or a full disk leaves the old file.
#include "tapeless/support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tapeless/support/check.h"
#include "tapeless/support/diagnostics.h"

namespace tapeless {

namespace {

int open_for_reading(const std::string& path, size_t& size) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) data_error("cannot open {}: {}", path, system_reason());
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    data_error("cannot read {}: not a regular file", path);
  }
  size = static_cast<size_t>(status.st_size);
  return descriptor;
}

std::string parent_of(const std::string& path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

std::string system_reason() { return std::strerror(errno); }

std::string read_text_file(const std::string& path) { return std::string(MappedFile(path).text()); }

MappedFile::MappedFile(const std::string& path) {
  int descriptor = open_for_reading(path, size_);
  if (size_ > 0) {
    void* at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
    if (at == MAP_FAILED) {
      std::string reason = system_reason();
      ::close(descriptor);
      data_error("cannot open {}: {}", path, reason);
    }
    data_ = static_cast<std::byte*>(at);
  }
  ::close(descriptor);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), beside_(path_ + ".part-" + std::to_string(::getpid())) {
  descriptor_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) data_error("cannot write {}: {}", path_, system_reason());
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(beside_.c_str());
}

void AtomicFile::write(const void* data, size_t size) {
  TL_CHECK(descriptor_ >= 0);
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t written = ::write(descriptor_, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) data_error("cannot write {}: {}", path_, system_reason());
    from += written;
    size -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  TL_CHECK(descriptor_ >= 0);
  if (::fsync(descriptor_) != 0) data_error("cannot write {}: {}", path_, system_reason());
  if (::rename(beside_.c_str(), path_.c_str()) != 0)
    data_error("cannot replace {}: {}", path_, system_reason());
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder(parent_of(path_));
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path, error))
    data_error("cannot make the folder {}: {}", path,
               error ? error.message() : "a file of that name exists");
}

void sync_folder(const std::string& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace tapeless
