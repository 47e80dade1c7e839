// Finding datasets: the recipe's folder first, then the user's, then Debian's.
#include "tapeless/data/find_data.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "tapeless/support/diagnostics.h"

namespace tapeless {

namespace {

constexpr const char* kDebianDatasets = "/usr/share/datasets";

std::string existing(const std::string& folder, const std::string& file) {
  std::error_code error;
  for (const char* suffix : {"", ".gz"}) {
    std::string path = fmt::format("{}/{}{}", folder, file, suffix);
    if (std::filesystem::is_regular_file(path, error)) return path;
  }
  return {};
}

}  // namespace

std::vector<std::string> data_folders(const std::string& dir, const std::string& name) {
  std::vector<std::string> roots;
  if (!dir.empty()) roots.push_back(dir);
  if (const char* own = std::getenv("TAPELESS_DATA"); own != nullptr && *own != 0)
    roots.push_back(own);
  roots.push_back(kDebianDatasets);
  std::vector<std::string> folders;
  for (const std::string& root : roots) {
    if (root != kDebianDatasets || name.empty()) folders.push_back(root);
    if (!name.empty()) folders.push_back(fmt::format("{}/{}", root, name));
  }
  return folders;
}

std::string find_data_folder(const std::string& dir, const std::string& name,
                             const std::string& file) {
  std::vector<std::string> folders = data_folders(dir, name);
  for (const std::string& folder : folders)
    if (!existing(folder, file).empty()) return folder;
  data_error(
      "dataset `{}` was not found: no {} or {}.gz in {}. Set `dir` in the recipe or TAPELESS_DATA, "
      "or install Debian's package dataset-{}",
      name, file, file, fmt::join(folders, ", "), name);
}

std::string data_file(const std::string& folder, const std::string& file) {
  std::string path = existing(folder, file);
  if (path.empty()) data_error("{} holds neither {} nor {}.gz", folder, file, file);
  return path;
}

}  // namespace tapeless
