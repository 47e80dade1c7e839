// The disk cache. A file is a magic number, a checksum and the object; it is written beside and
// renamed, so that readers see all of it or nothing.
#include "tapeless/codegen/object_cache.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/xxhash.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

namespace tapeless {
namespace {

namespace fs = std::filesystem;

struct Header {
  char magic[8];
  uint64_t checksum;
};

constexpr char kMagic[8] = {'T', 'L', 'O', 'B', 'J', '0', '0', '1'};

uint64_t checksum(std::string_view bytes) {
  return llvm::xxh3_64bits(llvm::StringRef(bytes.data(), bytes.size()));
}

std::optional<std::string> read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return in.bad() ? std::nullopt : std::optional(std::move(bytes));
}

}  // namespace

ObjectCache::ObjectCache(fs::path folder, uint64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::optional<ObjectCache> ObjectCache::from_environment() {
  if (const char* set = std::getenv("TAPELESS_CACHE")) {
    if (*set == '\0' || std::strcmp(set, "off") == 0) return std::nullopt;
    return ObjectCache(set);
  }
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) {
    return ObjectCache(fs::path(xdg) / "tapeless");
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return ObjectCache(fs::path(home) / ".cache" / "tapeless");
  }
  return std::nullopt;
}

std::optional<std::string> ObjectCache::find(const std::string& key) const {
  const fs::path path = file_of(key);
  auto bytes = read_all(path);
  if (!bytes) return std::nullopt;
  std::error_code ignored;
  Header header;
  const bool long_enough = bytes->size() > sizeof header;
  if (long_enough) std::memcpy(&header, bytes->data(), sizeof header);
  const std::string_view object = std::string_view(*bytes).substr(long_enough ? sizeof header : 0);
  if (!long_enough || std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
      header.checksum != checksum(object)) {
    fs::remove(path, ignored);
    return std::nullopt;
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // its last use
  return std::string(object);
}

void ObjectCache::store(const std::string& key, const std::string& object) const {
  static std::atomic<unsigned> serial{0};
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  const fs::path beside =
      folder_ / (key + "." + std::to_string(getpid()) + "." + std::to_string(serial++) + ".tmp");
  Header header{.magic = {}, .checksum = checksum(object)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  {
    std::ofstream out(beside, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
    out.write(object.data(), static_cast<std::streamsize>(object.size()));
    if (!out.flush()) {
      out.close();
      fs::remove(beside, ignored);
      return;
    }
  }
  fs::rename(beside, file_of(key), ignored);
  if (ignored) fs::remove(beside, ignored);
}

void ObjectCache::trim() const {
  struct File {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const auto used = it->last_write_time(gone);
    const uint64_t bytes = it->file_size(gone);
    if (gone) continue;
    const auto extension = it->path().extension();
    if (extension == ".tmp" && now - used > std::chrono::hours(1)) fs::remove(it->path(), gone);
    if (extension != ".tlo") continue;
    files.push_back({used, bytes, it->path()});
    total += bytes;
  }
  if (total <= max_bytes_) return;
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& f : files) {
    if (total <= max_bytes_ / 4 * 3) break;
    if (fs::remove(f.path, error)) total -= f.bytes;
  }
}

}  // namespace tapeless
