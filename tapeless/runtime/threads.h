#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tapeless/runtime/abi.h"

namespace tapeless {

/// Persistent threads for data-parallel work. The caller takes part; work is split statically into
/// one contiguous piece a thread, so what a thread runs depends only on the numbers of tasks and
/// threads. With one thread nothing is ever synchronised. Several threads may call run() of one
/// pool at a time: one gets the helpers, the others run their work alone. After fork() the child
/// starts helpers of its own when it first needs them.
class ThreadPool {
 public:
  /// fn(begin, end, thread): tasks [begin, end) on thread 0 .. threads() - 1.
  using Fn = std::function<void(int64_t begin, int64_t end, int thread)>;

  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  /// Returns when all is done. The first exception of a thread is thrown again here.
  void run(int64_t tasks, const Fn& fn);
  /// Runs a kernel; thread t gets scratch + t * scratch_bytes.
  void run_kernel(KernelFn kernel, void* const* buffers, const int64_t* sizes, int64_t tasks,
                  std::byte* scratch, int64_t scratch_bytes);

 private:
  struct Team;
  Team* team();  // of this process

  int threads_;
  std::atomic<Team*> team_{nullptr};
};

}  // namespace tapeless
