// How fast this machine multiplies and copies, with the code generator's own loops.
#include "machine_rates.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "tapeless/codegen/compile.h"
#include "tapeless/runtime/arena.h"
#include "tapeless/runtime/threads.h"

namespace tapeless {

namespace {

constexpr int64_t kRounds = 200'000;
constexpr int64_t kCopyFloats = int64_t{16} << 20;  // far more than any cache
constexpr int64_t kTaskFloats = int64_t{1} << 16;

// Independent accumulators hide the latency of the multiply-add: enough registers less two.
int accumulators(const Target& target) { return target.machine.vector_registers >= 32 ? 24 : 12; }

// One task: kRounds * accumulators vector multiply-adds in registers.
loop::Kernel multiply_kernel(const Target& target) {
  int lanes = target.machine.vector_bytes / 4, count = accumulators(target);
  loop::Type type{loop::Elem::kF32, lanes};
  loop::Buffer out = loop::buffer("out", loop::Elem::kF32, loop::Access::kReadWrite);
  loop::Kernel kernel{.name = "multiply", .buffers = {out}};
  kernel.tasks = loop::var("n");
  kernel.sizes = {kernel.tasks};
  kernel.task = loop::var("task");
  loop::Body body;
  loop::Expr at = kernel.task * lanes;
  loop::Expr x = body.let("x", loop::load(out, loop::ramp(at, lanes)));
  loop::Local sum = body.make_local("sum", type, count);
  body.unrolled("i", 0, count, [&](loop::Body& b, loop::Expr i) { b.store_local(sum, i, x); });
  body.loop("r", loop::i64(0), loop::i64(kRounds), [&](loop::Body& b, loop::Expr) {
    b.unrolled("i", 0, count, [&](loop::Body& u, loop::Expr i) {
      u.store_local(sum, i, loop::fma(loop::load_local(sum, i), x, x));
    });
  });
  body.unrolled("i", 0, count, [&](loop::Body& b, loop::Expr i) {
    b.store(out, loop::ramp(at, lanes), loop::load_local(sum, i) + x);
  });
  kernel.body = body.finish();
  return kernel;
}

loop::Kernel copy_kernel(const Target& target) {
  int lanes = target.machine.vector_bytes / 4;
  loop::Buffer in = loop::buffer("in", loop::Elem::kF32, loop::Access::kRead);
  loop::Buffer out = loop::buffer("out", loop::Elem::kF32, loop::Access::kWrite);
  loop::Kernel kernel{.name = "copy", .buffers = {in, out}};
  kernel.tasks = loop::i64(kCopyFloats / kTaskFloats);
  kernel.task = loop::var("task");
  loop::Body body;
  loop::Expr begin = kernel.task * kTaskFloats;
  body.loop("i", begin, begin + kTaskFloats, loop::i64(lanes), [&](loop::Body& b, loop::Expr i) {
    b.store(out, loop::ramp(i, lanes), loop::load(in, loop::ramp(i, lanes)));
  });
  kernel.body = body.finish();
  return kernel;
}

// The best of a few runs, in seconds.
template <class F>
double best_seconds(const F& f) {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) {
    auto begin = std::chrono::steady_clock::now();
    f();
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

MachineRates measure_machine(const std::string& cpu, int threads) {
  Target target = make_target(cpu);
  std::vector<loop::Kernel> kernels{multiply_kernel(target), copy_kernel(target)};
  std::optional<ObjectCache> cache = ObjectCache::from_environment();
  CompiledKernels code = compile_kernels(kernels, target, cache ? &*cache : nullptr);
  ThreadPool pool(threads);
  Arena from(kCopyFloats * 4), to(kCopyFloats * 4);
  void* copy_buffers[] = {from.data(), to.data()};
  void* multiply_buffers[] = {from.data()};
  int64_t tasks = threads;
  double multiply = best_seconds(
      [&] { pool.run_kernel(code.function(0), multiply_buffers, &tasks, tasks, nullptr, 0); });
  double copy = best_seconds([&] {
    pool.run_kernel(code.function(1), copy_buffers, nullptr, kCopyFloats / kTaskFloats, nullptr, 0);
  });
  double vector_flops = 2.0 * target.machine.vector_bytes / 4;
  return {.flops = vector_flops * accumulators(target) * kRounds * threads / multiply,
          .bytes = 2.0 * 4 * kCopyFloats / copy};
}

}  // namespace tapeless
