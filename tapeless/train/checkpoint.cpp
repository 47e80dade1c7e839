// Checkpoints: folders that are swapped in whole, with a checksum of every file.
#include "tapeless/train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"

namespace tapeless {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr const char* kModel = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kRun = "run.json";
constexpr size_t kNamedDifferences = 8;

// JSON numbers are doubles to many readers, so 64-bit values are text.
std::string hexadecimal(uint64_t value) { return fmt::format("{:#018x}", value); }

Json fingerprint(const MappedFile& file) {
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(file.data()), file.size());
  return {{"bytes", file.size()}, {"crc32", fmt::format("{:08x}", crc)}};
}

Json to_json(const RunState& run) {
  return {{"name", run.name},
          {"step", run.step},
          {"epoch", run.epoch},
          {"key", hexadecimal(run.key)},
          {"data",
           {{"epoch", run.data.epoch},
            {"row", run.data.row},
            {"rows", run.data.rows},
            {"seed", hexadecimal(run.data.seed)}}},
          {"numbers", run.numbers}};
}

uint64_t from_hexadecimal(const Json& value) {
  return std::stoull(value.get<std::string>(), nullptr, 16);
}

RunState run_from_json(const Json& json) {
  RunState run;
  json.at("name").get_to(run.name);
  json.at("step").get_to(run.step);
  json.at("epoch").get_to(run.epoch);
  run.key = from_hexadecimal(json.at("key"));
  const Json& data = json.at("data");
  data.at("epoch").get_to(run.data.epoch);
  data.at("row").get_to(run.data.row);
  data.at("rows").get_to(run.data.rows);
  run.data.seed = from_hexadecimal(data.at("seed"));
  for (const auto& [name, value] : json.at("numbers").items())
    run.numbers.emplace(name, value.get<double>());
  return run;
}

// Puts `beside` in the place of `folder`: in one exchange where the file system can, else with a
// moment in which the old one is called `folder`.old.
void replace_folder(const std::string& beside, const std::string& folder) {
  if (!fs::exists(folder)) {
    fs::rename(beside, folder);
    return;
  }
  std::string old = folder + ".old";
  if (::renameat2(AT_FDCWD, beside.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    old = beside;
  } else {
    fs::remove_all(old);
    fs::rename(folder, old);
    fs::rename(beside, folder);
  }
  std::error_code ignored;
  fs::remove_all(old, ignored);
}

void write_folder(const std::string& folder, const Checkpoint& checkpoint) {
  Json run = {{"format", kFormat}, {"tapeless", TAPELESS_VERSION}};
  run.update(to_json(checkpoint.run));
  write_safetensors(folder + "/" + kModel, checkpoint.model);
  write_safetensors(folder + "/" + kOptimizer, checkpoint.optimizer);
  for (const char* file : {kModel, kOptimizer})
    run["files"][file] = fingerprint(MappedFile(folder + "/" + file));
  write_file(folder + "/" + kRun, run.dump(2) + "\n");
}

Json read_run(const std::string& folder) {
  std::string path = folder + "/" + kRun;
  if (!fs::is_regular_file(path)) data_error("{} is not a checkpoint: it has no {}", folder, kRun);
  Json run;
  try {
    run = Json::parse(read_text_file(path));
  } catch (const Json::exception& error) {
    data_error("{} is damaged: {}", path, error.what());
  }
  int format = run.is_object() ? run.value("format", 0) : 0;
  if (format != kFormat)
    data_error("{} has format {}, this version reads format {}", path, format, kFormat);
  return run;
}

TensorMap read_tensors(const std::string& folder, const char* name, const Json& run) {
  std::string path = folder + "/" + name;
  if (!fs::is_regular_file(path)) data_error("{} is incomplete: it has no {}", folder, name);
  if (fingerprint(MappedFile(path)) != run.at("files").at(name))
    data_error("{} is damaged: it is not as it was saved", path);
  return read_safetensors(path).tensors;
}

}  // namespace

void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint) {
  if (fs::exists(folder) && !fs::is_regular_file(folder + "/" + kRun))
    data_error("{} exists and is not a checkpoint: it is left alone", folder);
  std::string beside = fmt::format("{}.part-{}", folder, ::getpid());
  try {
    make_folder(beside);
    write_folder(beside, checkpoint);
    sync_folder(beside);
    replace_folder(beside, folder);
    fs::path parent = fs::path(folder).parent_path();
    sync_folder(parent.empty() ? "." : parent.string());
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(beside, ignored);
    data_error("the checkpoint {} was not saved: {}", folder, error.what());
  }
}

Checkpoint load_checkpoint(const std::string& folder, bool with_optimizer) {
  std::string from = folder;
  if (!fs::exists(from) && fs::exists(folder + ".old")) from = folder + ".old";
  Json run = read_run(from);
  Checkpoint checkpoint;
  try {
    checkpoint.run = run_from_json(run);
    checkpoint.model = read_tensors(from, kModel, run);
    if (with_optimizer) checkpoint.optimizer = read_tensors(from, kOptimizer, run);
  } catch (const DataError&) {
    throw;
  } catch (const std::exception& error) {
    data_error("{}/{} is damaged: {}", from, kRun, error.what());
  }
  return checkpoint;
}

void check_tensors(const std::string& source, const TensorMap& tensors, const TensorMap& expected) {
  std::vector<std::string> differences;
  for (const auto& [name, want] : expected) {
    auto found = tensors.find(name);
    if (found == tensors.end())
      differences.push_back(fmt::format("`{}` is missing", name));
    else if (found->second.type_str() != want.type_str())
      differences.push_back(
          fmt::format("`{}` is {}, expected {}", name, found->second.type_str(), want.type_str()));
  }
  for (const auto& [name, tensor] : tensors)
    if (expected.find(name) == expected.end())
      differences.push_back(fmt::format("`{}` is not known", name));
  if (differences.empty()) return;
  size_t more = differences.size();
  differences.resize(std::min(differences.size(), kNamedDifferences));
  more -= differences.size();
  data_error("{} is of another model: {}{}", source, fmt::join(differences, "; "),
             more == 0 ? "" : fmt::format("; and {} more", more));
}

}  // namespace tapeless
