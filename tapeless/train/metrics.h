#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace tapeless {

// What happens in a run, as metrics.jsonl and --json tell it. A number that is not there is NaN and
// is left out.
inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

struct CompileEvent {
  double seconds = 0;
  int64_t kernels = 0;
  int64_t cached = 0;
  int64_t arena_bytes = 0;
};

struct StepEvent {
  int64_t step = 0;  // counts from 1
  int64_t epoch = 0;
  double loss = kAbsent;
  double lr = kAbsent;
  double items_per_s = kAbsent;
  double grad_norm = kAbsent;
  int64_t skipped = 0;         // steps with values that are not finite, so far
  std::string nonfinite = {};  // in this step: the loss or the parameter of the gradient
};

struct EvalEvent {
  std::string split = "test";
  int64_t step = 0;
  int64_t epoch = 0;
  double loss = kAbsent;
  double accuracy = kAbsent;  // 0 to 1
  double seconds = kAbsent;
};

struct DoneEvent {
  std::string reason = "finished";  // or interrupted, early_stop, max_steps
  int64_t step = 0;
  int64_t epoch = 0;
  double seconds = 0;
  double loss = kAbsent;
  double accuracy = kAbsent;
};

/// Writes events, one JSON object a line.
class MetricsWriter {
 public:
  /// Appends to the file; `-` is the standard output.
  explicit MetricsWriter(const std::string& path);
  /// First drops from an existing file what comes after this step: a run goes on from a checkpoint.
  MetricsWriter(const std::string& path, int64_t resumed_step);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;

  void write(const CompileEvent& event);
  void write(const StepEvent& event);
  void write(const EvalEvent& event);
  void write(const DoneEvent& event);

 private:
  void line(const std::string& text, bool flush);

  std::string path_;
  std::FILE* file_ = nullptr;
  std::chrono::steady_clock::time_point flushed_;
};

/// The steps and evaluations of a metrics file. Lines that are no events are passed over: the last
/// one of a run that was killed may be torn.
struct History {
  std::vector<StepEvent> steps;
  std::vector<EvalEvent> evaluations;
};
History read_metrics(const std::string& path);

}  // namespace tapeless
