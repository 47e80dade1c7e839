#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tapeless {

/// Object code on disk, one file a kernel, named by the hash of what it was made from. Several
/// processes may use one folder at a time. A missing, damaged or unwritable cache is never an
/// error: what is not found is made again.
class ObjectCache {
 public:
  static constexpr uint64_t kDefaultMaxBytes = uint64_t{256} << 20;

  explicit ObjectCache(std::filesystem::path folder, uint64_t max_bytes = kDefaultMaxBytes);
  /// In `$TAPELESS_CACHE`, `$XDG_CACHE_HOME/tapeless` or `~/.cache/tapeless`, whichever is set
  /// first; none if `TAPELESS_CACHE` is set and empty or `off`.
  static std::optional<ObjectCache> from_environment();

  const std::filesystem::path& folder() const { return folder_; }
  std::optional<std::string> find(const std::string& key) const;
  void store(const std::string& key, const std::string& object) const;
  /// Removes the files that were used longest ago until the folder is within its bound.
  void trim() const;

 private:
  std::filesystem::path file_of(const std::string& key) const { return folder_ / (key + ".tlo"); }

  std::filesystem::path folder_;
  uint64_t max_bytes_;
};

}  // namespace tapeless
