// `tapeless doctor`: what this machine gives and what will be used of it.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "commands.h"
#include "tapeless/codegen/object_cache.h"
#include "tapeless/codegen/target.h"

namespace tapeless {

namespace {

namespace fs = std::filesystem;

std::string first_value(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key))
      if (size_t colon = line.find(':'); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown";
}

std::string huge_pages() {
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(in, text);
  size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos) return "not known";
  std::string mode = text.substr(open + 1, close - open - 1);
  return mode == "never" ? "never (set transparent_hugepage to madvise for speed)" : mode;
}

std::string cache_line() {
  std::optional<ObjectCache> cache = ObjectCache::from_environment();
  if (!cache) return "off";
  std::error_code error;
  uintmax_t bytes = 0;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(cache->folder(), error)) {
    bytes += entry.file_size(error);
    ++files;
  }
  return fmt::format("{} ({} kernels, {:.1f} MiB)", cache->folder().string(), files,
                     static_cast<double>(bytes) / (1 << 20));
}

std::string targets() {
  std::string names;
  for (const char* name : {"avx512", "avx2", "x86-64"})
    if (make_target(name).host_can_run) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

void doctor() {
  Target native = make_target("native");
  fmt::print("processor    {}\n", first_value("/proc/cpuinfo", "model name"));
  fmt::print("code for     {} ({} {})\n", native.machine.name, native.cpu, native.features);
  fmt::print("can run      {}\n", targets());
  fmt::print("threads      {}\n", std::thread::hardware_concurrency());
  fmt::print("memory       {}\n", first_value("/proc/meminfo", "MemAvailable"));
  fmt::print("huge pages   {}\n", huge_pages());
  fmt::print("cache        {}\n", cache_line());
}

}  // namespace

void add_doctor(CLI::App& app) {
  app.add_subcommand("doctor", "Show the CPU features chosen, threads, huge pages, cache folder")
      ->callback(doctor);
}

}  // namespace tapeless
