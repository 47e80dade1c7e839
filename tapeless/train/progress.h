#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace tapeless {

/// Shows how far a run is: a bar that is drawn over on a terminal, else a line every ten seconds.
class Progress {
 public:
  /// The run goes from `first_step` (0 unless resumed) to `steps`; `items` names what a step
  /// processes.
  Progress(std::FILE* out, int64_t first_step, int64_t steps, int64_t epochs,
           std::string items = "images");
  /// Takes the bar away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `step` steps are done, the last one over `items` items in `epoch` (from 0).
  void step(int64_t step, int64_t epoch, double loss, int64_t items);
  /// Time from here to `resume` counts for nobody: an evaluation.
  void pause();
  void resume();
  /// A line of its own, above the bar.
  void line(const std::string& text);
  /// Items a second lately.
  double items_per_s() const { return rate_; }

 private:
  using Clock = std::chrono::steady_clock;
  void measure(Clock::time_point now);
  std::string status() const;
  void draw();
  void erase();

  std::FILE* out_;
  bool terminal_;
  int64_t steps_, epochs_;
  std::string items_name_;

  int64_t step_ = 0, epoch_ = 0;
  double loss_ = 0;
  double rate_ = 0;            // items a second
  double seconds_a_step_ = 0;  // both averaged over the last seconds
  int64_t measured_step_, items_ = 0;
  Clock::time_point measured_, drawn_, paused_;
  bool shown_ = false;
};

/// 0:07, 12:30, 1:02:03.
std::string clock_time(double seconds);

}  // namespace tapeless
