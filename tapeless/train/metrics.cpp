// metrics.jsonl: events to lines and back.
#include "tapeless/train/metrics.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"

namespace tapeless {

namespace {

using Json = nlohmann::ordered_json;

void put(Json& json, const char* key, double value) {
  if (!std::isnan(value)) json[key] = value;
}

double number(const Json& json, const char* key) {
  auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : kAbsent;
}

Json parse_line(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  return json.is_object() && json.contains("event") ? json : Json(nullptr);
}

void drop_after(const std::string& path, int64_t step) {
  std::ifstream in(path);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    Json json = parse_line(line);
    bool later = json.is_object() && json.value("step", int64_t{0}) > step;
    if (json.is_object() && !later && json["event"] != "done") kept += line + "\n";
  }
  if (in.eof()) write_file(path, kept);
}

}  // namespace

MetricsWriter::MetricsWriter(const std::string& path) : path_(path) {
  file_ = path == "-" ? stdout : std::fopen(path.c_str(), "a");
  if (file_ == nullptr) data_error("cannot write {}: {}", path, system_reason());
}

MetricsWriter::MetricsWriter(const std::string& path, int64_t resumed_step)
    : MetricsWriter((drop_after(path, resumed_step), path)) {}

MetricsWriter::~MetricsWriter() {
  std::fflush(file_);
  if (file_ != stdout) std::fclose(file_);
}

// Steps may take microseconds, so their lines are flushed five times a second at most.
void MetricsWriter::line(const std::string& text, bool flush) {
  bool good = std::fputs((text + "\n").c_str(), file_) >= 0;
  auto now = std::chrono::steady_clock::now();
  if (flush || now - flushed_ > std::chrono::milliseconds(200)) {
    good = std::fflush(file_) == 0 && good;
    flushed_ = now;
  }
  if (!good) data_error("cannot write {}: {}", path_, system_reason());
}

void MetricsWriter::write(const CompileEvent& event) {
  Json json = {{"event", "compile"},
               {"seconds", event.seconds},
               {"kernels", event.kernels},
               {"cached", event.cached},
               {"arena_bytes", event.arena_bytes}};
  line(json.dump(), true);
}

void MetricsWriter::write(const StepEvent& event) {
  Json json = {{"event", "step"}, {"step", event.step}, {"epoch", event.epoch}};
  put(json, "loss", event.loss);
  put(json, "lr", event.lr);
  put(json, "items_per_s", event.items_per_s);
  put(json, "grad_norm", event.grad_norm);
  if (event.skipped > 0) json["skipped"] = event.skipped;
  if (!event.nonfinite.empty()) json["nonfinite"] = event.nonfinite;
  line(json.dump(), false);
}

void MetricsWriter::write(const EvalEvent& event) {
  Json json = {
      {"event", "eval"}, {"split", event.split}, {"step", event.step}, {"epoch", event.epoch}};
  put(json, "loss", event.loss);
  put(json, "accuracy", event.accuracy);
  put(json, "seconds", event.seconds);
  line(json.dump(), true);
}

void MetricsWriter::write(const DoneEvent& event) {
  Json json = {{"event", "done"},
               {"reason", event.reason},
               {"step", event.step},
               {"epoch", event.epoch},
               {"seconds", event.seconds}};
  put(json, "loss", event.loss);
  put(json, "accuracy", event.accuracy);
  line(json.dump(), true);
}

History read_metrics(const std::string& path) {
  History history;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    Json json = parse_line(line);
    if (!json.is_object()) continue;
    auto whole = [&](const char* key) {
      double value = number(json, key);
      return std::isnan(value) ? int64_t{0} : static_cast<int64_t>(value);
    };
    if (json["event"] == "step")
      history.steps.push_back({whole("step"), whole("epoch"), number(json, "loss"),
                               number(json, "lr"), number(json, "items_per_s"),
                               number(json, "grad_norm"), whole("skipped"),
                               json.value("nonfinite", "")});
    if (json["event"] == "eval")
      history.evaluations.push_back({json.value("split", "test"), whole("step"), whole("epoch"),
                                     number(json, "loss"), number(json, "accuracy"),
                                     number(json, "seconds")});
  }
  return history;
}

}  // namespace tapeless
