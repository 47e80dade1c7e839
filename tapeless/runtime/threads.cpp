// The pool: helpers wait for a new epoch, spinning a little before they sleep; the caller publishes
// a job by raising the epoch, runs its own piece and waits for the others in the same way.
#include "tapeless/runtime/threads.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tapeless {
namespace {

using Clock = std::chrono::steady_clock;

// About twice what waking a sleeping thread costs on a virtual machine (60 to 80 microseconds
// measured): longer than the gaps between the kernels of a step, short enough that a pool that
// waits for data burns little.
constexpr std::chrono::microseconds kSpin{150};

void pause_cpu() { __builtin_ia32_pause(); }

// Until `value` differs from `old`: spins for a while, then sleeps on the futex of the atomic.
uint32_t wait_change(const std::atomic<uint32_t>& value, uint32_t old, bool spin) {
  constexpr int kLooksPerClock = 32;
  const auto until = Clock::now() + (spin ? kSpin : Clock::duration::zero());
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      const uint32_t now = value.load(std::memory_order_acquire);
      if (now != old) return now;
      pause_cpu();
    }
  } while (Clock::now() < until);
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

struct ThreadPool::Team {
  explicit Team(int threads) : size(threads), owner(getpid()) {
    for (int t = 1; t < threads; ++t) helpers.emplace_back([this, t] { help(t); });
  }

  ~Team() {
    stop = true;
    epoch.fetch_add(1, std::memory_order_release);
    epoch.notify_all();
    for (std::thread& h : helpers) h.join();
  }

  void piece(int thread) {
    const int64_t begin = tasks * thread / size, end = tasks * (thread + 1) / size;
    if (begin == end) return;
    try {
      (*fn)(begin, end, thread);
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  }

  void help(int thread) {
    uint32_t seen = 0;
    for (;;) {
      seen = wait_change(epoch, seen, spins);
      if (stop) return;
      piece(thread);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }

  void run(int64_t count, const Fn& f) {
    fn = &f;
    tasks = count;
    error = nullptr;
    running.store(static_cast<uint32_t>(size - 1), std::memory_order_relaxed);
    epoch.fetch_add(1, std::memory_order_release);
    epoch.notify_all();
    piece(0);
    for (uint32_t left = running.load(std::memory_order_acquire); left != 0;) {
      left = wait_change(running, left, spins);
    }
    if (error) std::rethrow_exception(error);
  }

  const int size;
  // Threads that outnumber the cores would spin in each other's way.
  const bool spins = static_cast<unsigned>(size) <= std::thread::hardware_concurrency();
  const pid_t owner;
  std::mutex in_use;  // held by the caller whose job runs
  std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> running{0};
  std::atomic<bool> stop{false};
  const Fn* fn = nullptr;
  int64_t tasks = 0;
  std::mutex error_mutex;
  std::exception_ptr error;
  std::vector<std::thread> helpers;
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)) {
  if (threads_ > 1) team_ = new Team(threads_);
}

// The helpers of a parent process do not exist in its child: there the old team is left alone.
ThreadPool::~ThreadPool() {
  const Team* t = team_;
  if (t && t->owner == getpid()) delete t;
}

ThreadPool::Team* ThreadPool::team() {
  Team* t = team_.load(std::memory_order_acquire);
  if (t->owner == getpid()) return t;
  auto fresh = std::make_unique<Team>(threads_);
  if (team_.compare_exchange_strong(t, fresh.get())) return fresh.release();
  return t;  // another thread of the child was faster
}

void ThreadPool::run(int64_t tasks, const Fn& fn) {
  if (tasks <= 0) return;
  if (threads_ == 1 || tasks == 1) return fn(0, tasks, 0);
  Team* t = team();
  std::unique_lock lock(t->in_use, std::try_to_lock);
  if (!lock) return fn(0, tasks, 0);
  t->run(tasks, fn);
}

void ThreadPool::run_kernel(KernelFn kernel, void* const* buffers, const int64_t* sizes,
                            int64_t tasks, std::byte* scratch, int64_t scratch_bytes) {
  if (threads_ == 1 || tasks == 1) return kernel(buffers, sizes, scratch, 0, tasks);
  run(tasks, [&](int64_t begin, int64_t end, int thread) {
    kernel(buffers, sizes, scratch ? scratch + thread * scratch_bytes : nullptr, begin, end);
  });
}

}  // namespace tapeless
