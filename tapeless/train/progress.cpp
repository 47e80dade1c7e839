// The progress of a run on a terminal or in a log.
#include "tapeless/train/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace tapeless {

namespace {

using namespace std::chrono_literals;

constexpr auto kRedraw = 100ms;
constexpr auto kLine = 10s;
constexpr double kMemorySeconds = 3;
constexpr int kBarWidth = 24, kBarMinimum = 6;

// Nothing where there is too little room.
std::string bar(double share, int width) {
  if (width < kBarMinimum) return "";
  int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * width);
  std::string text(static_cast<size_t>(full), '=');
  if (full < width) text += '>';
  text.resize(static_cast<size_t>(width), ' ');
  return "[" + text + "] ";
}

std::string short_number(double value) {
  if (value >= 1e6) return fmt::format("{:.1f}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

size_t columns(std::FILE* out) {
  winsize size{};
  if (::ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string clock_time(double seconds) {
  auto total = static_cast<int64_t>(std::lround(seconds));
  if (total < 3600) return fmt::format("{}:{:02}", total / 60, total % 60);
  return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

Progress::Progress(std::FILE* out, int64_t first_step, int64_t steps, int64_t epochs,
                   std::string items)
    : out_(out),
      terminal_(::isatty(fileno(out)) == 1),
      steps_(steps),
      epochs_(epochs),
      items_name_(std::move(items)),
      step_(first_step),
      measured_step_(first_step),
      measured_(Clock::now()),
      drawn_(measured_) {}

Progress::~Progress() { erase(); }

void Progress::step(int64_t step, int64_t epoch, double loss, int64_t items) {
  step_ = step;
  epoch_ = epoch;
  loss_ = loss;
  items_ += items;
  auto now = Clock::now();
  if (now - measured_ >= kRedraw) measure(now);
  if (now - drawn_ < (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kLine))) return;
  drawn_ = now;
  draw();
}

// An exponential mean over time; the first measure stands alone.
void Progress::measure(Clock::time_point now) {
  double seconds = std::chrono::duration<double>(now - measured_).count();
  double keep = seconds_a_step_ == 0 ? 0 : std::exp(-seconds / kMemorySeconds);
  double steps = static_cast<double>(std::max<int64_t>(step_ - measured_step_, 1));
  rate_ = keep * rate_ + (1 - keep) * static_cast<double>(items_) / seconds;
  seconds_a_step_ = keep * seconds_a_step_ + (1 - keep) * seconds / steps;
  measured_ = now;
  measured_step_ = step_;
  items_ = 0;
}

void Progress::pause() { paused_ = Clock::now(); }

void Progress::resume() {
  auto away = Clock::now() - paused_;
  measured_ += away;
  drawn_ += away;
}

std::string Progress::status() const {
  double left = static_cast<double>(steps_ - step_) * seconds_a_step_;
  return fmt::format("step {}/{}  loss {:.4f}  {} {}/s  {} left", step_, steps_, loss_,
                     short_number(rate_), items_name_, clock_time(left));
}

void Progress::draw() {
  if (!terminal_) {
    fmt::print(out_, "epoch {}/{}  {}\n", epoch_ + 1, epochs_, status());
    std::fflush(out_);
    return;
  }
  double share = static_cast<double>(step_) / static_cast<double>(std::max<int64_t>(steps_, 1));
  std::string head = fmt::format("epoch {}/{} ", epoch_ + 1, epochs_), tail = status();
  auto room = static_cast<int>(columns(out_)) - static_cast<int>(head.size() + tail.size()) - 4;
  std::string text = head + bar(share, std::min(room, kBarWidth)) + tail;
  text.resize(std::min(text.size(), columns(out_) - 1));
  fmt::print(out_, "\r\033[2K{}", text);
  std::fflush(out_);
  shown_ = true;
}

void Progress::erase() {
  if (!shown_) return;
  fmt::print(out_, "\r\033[2K");
  std::fflush(out_);
  shown_ = false;
}

void Progress::line(const std::string& text) {
  erase();
  fmt::print(out_, "{}\n", text);
  std::fflush(out_);
}

}  // namespace tapeless
