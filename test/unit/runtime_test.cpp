// Threads, random bits and arenas.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tapeless/runtime/arena.h"
#include "tapeless/runtime/philox.h"
#include "tapeless/runtime/threads.h"

namespace tapeless {
namespace {

// Every task once, in one contiguous piece a thread.
bool covers_all(ThreadPool& pool, int64_t tasks) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(tasks));
  pool.run(tasks, [&](int64_t begin, int64_t end, int thread) {
    EXPECT_LT(thread, pool.threads());
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (const auto& s : seen) {
    if (s != 1) return false;
  }
  return true;
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const int64_t tasks : {0, 1, 2, 7, 8, 1000}) {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(covers_all(pool, tasks));
    }
  }
}

TEST(ThreadPool, ThrowsWhatATaskThrew) {
  ThreadPool pool(3);
  auto fail = [](int64_t, int64_t, int thread) {
    if (thread == 2) throw std::runtime_error("bad label");
  };
  EXPECT_THROW(pool.run(9, fail), std::runtime_error);
  EXPECT_TRUE(covers_all(pool, 9));
}

TEST(ThreadPool, ManyCallersAtATime) {
  ThreadPool pool(2);
  std::atomic<int> good{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) good += covers_all(pool, 13);
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(good, 200);
}

TEST(ThreadPool, SurvivesFork) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer forbids threads after a fork";
#endif
  ThreadPool pool(3);
  ASSERT_TRUE(covers_all(pool, 100));
  const pid_t child = fork();
  if (child == 0) _exit(covers_all(pool, 100) && covers_all(pool, 5) ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(covers_all(pool, 100));
}

// The first two vectors are those published with the generator (Random123's kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox_rounds(0, {0, 0, 0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox_rounds(~uint64_t{0}, {~0U, ~0U, ~0U, ~0U}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_word(5, 64 + 2 * 16 + 7), philox_block(5, 16 + 7)[2]);
  EXPECT_NE(philox_fold_in(1, 0), philox_fold_in(1, 1));
  EXPECT_NE(philox_split(1, 0), philox_fold_in(1, 0));
  EXPECT_LT(uniform_f32(~0U), 1.0F);
}

TEST(Arena, GrowsAlignedAndZeroed) {
  Arena arena(100);
  EXPECT_GE(arena.bytes(), 100);
  for (const int64_t bytes : {int64_t{5000}, int64_t{3} << 20, int64_t{9} << 20}) {
    arena.reserve(bytes);
    ASSERT_GE(arena.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 64, 0);
    EXPECT_EQ(arena.data()[0], std::byte{0});
    EXPECT_EQ(arena.data()[bytes - 1], std::byte{0});
    arena.data()[bytes - 1] = std::byte{7};
  }
  const std::byte* before = arena.data();
  Arena moved = std::move(arena);
  EXPECT_EQ(moved.data(), before);
}

}  // namespace
}  // namespace tapeless
