#pragma once

#include <string>
#include <vector>

namespace tapeless {

/// Where a dataset may lie: `dir` (the recipe's; may be empty), $TAPELESS_DATA, the folder of
/// Debian's dataset packages; in each both the folder itself and its subfolder `name`.
std::vector<std::string> data_folders(const std::string& dir, const std::string& name);

/// The first of the folders that holds `file` or `file`.gz. A DataError lists where it looked and
/// names Debian's package.
std::string find_data_folder(const std::string& dir, const std::string& name,
                             const std::string& file);

/// `folder/file` or `folder/file.gz`, whichever exists.
std::string data_file(const std::string& folder, const std::string& file);

}  // namespace tapeless
