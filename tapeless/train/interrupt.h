#pragma once

namespace tapeless {

/// While one lives, the first Ctrl-C only sets a flag, so that a run can finish its step and save;
/// the second ends the process as if nothing had been installed. One at a time in a process.
class InterruptGuard {
 public:
  explicit InterruptGuard(bool install);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;

 private:
  bool installed_;
  void (*previous_)(int) = nullptr;
};

}  // namespace tapeless
