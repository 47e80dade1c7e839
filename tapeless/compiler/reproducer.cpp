// Reproducers: a bug's module as a file that is a text test already.
#include "tapeless/compiler/reproducer.h"

#include <filesystem>
#include <fstream>

#include "tapeless/ir/print.h"

namespace tapeless {

void throw_with_reproducer(const InternalError& error, const Module& module,
                           const std::string& command) {
  std::string text = "// RUN: " + command + "\n" + print(module);
  std::error_code failed;
  std::filesystem::path path = std::filesystem::temp_directory_path(failed);
  path /= fmt::format("tapeless-bug-{:016x}.tir", std::hash<std::string>()(text));
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  std::string note = out ? "a reproducer is in " + path.string()
                         : "no reproducer could be written to " + path.string();
  throw InternalError(std::string(error.what()) + "\n" + note);
}

}  // namespace tapeless
