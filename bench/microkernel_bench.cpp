// Rate of a matrix-product microkernel written in loop IR: rows x columns of C in registers, B
// packed in panels, A read in place. Prints GFLOP/s, the share of the measured FMA peak, and how
// many vector registers were spilled to the stack in the inner loop.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tapeless/codegen/compile.h"

namespace tapeless {
namespace {

using namespace loop;  // NOLINT

// C[rows, columns] += A[rows, k] B[k, columns]; lda and ldc are constants, k a run-time size,
// a multiple of `unroll`.
Kernel microkernel(const Machine& m, int rows, int columns, int unroll, int64_t lda, int64_t ldc) {
  const int lanes = m.lanes(Elem::kF32), vectors = columns / lanes;
  const Expr k = var("k");
  const Buffer a = buffer("a", Elem::kF32, Access::kRead);
  const Buffer b = buffer("b", Elem::kF32, Access::kRead);
  const Buffer c = buffer("c", Elem::kF32, Access::kReadWrite);
  auto multiply_add = [&](Expr x, Expr y, Expr z) { return m.fma ? fma(x, y, z) : x * y + z; };
  Body body;
  const Local acc = body.make_local("acc", {Elem::kF32, lanes}, rows * vectors);
  const Local row = body.make_local("row", {Elem::kF32, lanes}, vectors);
  body.unrolled("i", 0, rows, [&](Body& bi, Expr i) {
    bi.unrolled("j", 0, vectors, [&](Body& bj, Expr j) {
      bj.store_local(acc, i * vectors + j, load(c, ramp(i * ldc + j * lanes, lanes)));
    });
  });
  body.loop("p0", i64(0), k, i64(unroll), [&](Body& b0, Expr p0) {
    b0.unrolled("u", 0, unroll, [&](Body& bp, Expr u) {
      const Expr p = p0 + u;
      bp.unrolled("j", 0, vectors, [&](Body& bj, Expr j) {
        bj.store_local(row, j, load(b, ramp(p * columns + j * lanes, lanes)));
      });
      bp.unrolled("i", 0, rows, [&](Body& bi, Expr i) {
        const Expr x = bi.let("x", load(a, i * lda + p));
        bi.unrolled("j", 0, vectors, [&](Body& bj, Expr j) {
          const Expr at = i * vectors + j;
          bj.store_local(
              acc, at, multiply_add(broadcast(x, lanes), load_local(row, j), load_local(acc, at)));
        });
      });
    });
  });
  body.unrolled("i", 0, rows, [&](Body& bi, Expr i) {
    bi.unrolled("j", 0, vectors, [&](Body& bj, Expr j) {
      bj.store(c, ramp(i * ldc + j * lanes, lanes), load_local(acc, i * vectors + j));
    });
  });
  return {.name = fmt::format("mm{}x{}", rows, columns),
          .buffers = {a, b, c},
          .sizes = {k},
          .body = body.finish()};
}

// Independent chains of FMA: the peak.
Kernel peak_kernel(const Machine& m, int chains) {
  const int lanes = m.lanes(Elem::kF32);
  const Expr k = var("k");
  const Buffer x = buffer("x", Elem::kF32, Access::kReadWrite);
  Body body;
  const Local acc = body.make_local("acc", {Elem::kF32, lanes}, chains);
  const Expr f = body.let("f", load(x, ramp(i64(0), lanes)));
  body.unrolled("i", 0, chains,
                [&](Body& b, Expr i) { b.store_local(acc, i, load(x, ramp(i * lanes, lanes))); });
  body.loop("p", i64(0), k, [&](Body& bp, Expr) {
    bp.unrolled("i", 0, chains, [&](Body& b, Expr i) {
      const Expr v = load_local(acc, i);
      b.store_local(acc, i, m.fma ? fma(v, f, f) : v * f + f);
    });
  });
  body.unrolled("i", 0, chains,
                [&](Body& b, Expr i) { b.store(x, ramp(i * lanes, lanes), load_local(acc, i)); });
  return {.name = "peak", .buffers = {x}, .sizes = {k}, .body = body.finish()};
}

float* aligned(size_t count) {
  auto* p = static_cast<float*>(std::aligned_alloc(64, count * sizeof(float)));
  std::fill_n(p, count, 1e-3F);
  return p;
}

double gflops(KernelFn f, void* const* buffers, int64_t k, double flops) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int sample = 0; sample < 300; ++sample) {
    const auto start = Clock::now();
    for (int i = 0; i < 200; ++i) f(buffers, &k, nullptr, 0, 1);
    const std::chrono::duration<double> t = Clock::now() - start;
    best = std::max(best, 200 * flops / t.count() * 1e-9);
  }
  return best;
}

// Vector registers written to or read from the stack.
size_t spills(const std::string& text) {
  size_t n = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    n += line.find("mm") != std::string::npos && line.find("(%rsp)") != std::string::npos;
  }
  return n;
}

void measure(const std::string& isa) {
  const Target target = make_target(isa);
  if (!target.host_can_run) return;
  constexpr int64_t kK = 384;
  float* a = aligned(64 * kK);
  float* b = aligned(kK * 128);
  float* c = aligned(64 * 128);
  const Kernel peak = peak_kernel(target.machine, target.machine.vector_registers - 4);
  const CompiledKernels peak_code = compile_kernels({&peak, 1}, target, nullptr);
  void* peak_buffers[] = {c};
  const int lanes = target.machine.lanes(Elem::kF32);
  const double bound = gflops(peak_code.function(0), peak_buffers, kK,
                              2.0 * kK * lanes * (target.machine.vector_registers - 4));
  fmt::print("{}: peak {:.1f} GFLOP/s\n", isa, bound);
  struct Tile {
    int rows, columns, unroll;
  };
  std::vector<Tile> tiles = {{8, 48, 1}, {8, 48, 4}, {6, 64, 1}, {6, 64, 4}, {14, 32, 1}};
  if (lanes == 8) tiles = {{6, 16, 1}, {4, 24, 1}};
  if (lanes == 4) tiles = {{4, 8, 1}};
  for (const auto [rows, columns, unroll] : tiles) {
    const Kernel kernel = microkernel(target.machine, rows, columns, unroll, kK, 128);
    const CompiledKernels code = compile_kernels({&kernel, 1}, target, nullptr);
    void* buffers[] = {a, b, c};
    const double rate = gflops(code.function(0), buffers, kK, 2.0 * kK * rows * columns);
    fmt::print(
        "  {}x{}, k by {}: {:.1f} GFLOP/s, {:.0f} % of peak, {} spills, compiled in {:.1f} ms\n",
        rows, columns, unroll, rate, 100 * rate / bound, spills(asm_text(kernel, target)),
        1e3 * code.stats().seconds);
  }
}

}  // namespace
}  // namespace tapeless

int main() {
  for (const char* isa : {"avx512", "avx2", "x86-64"}) tapeless::measure(isa);
}
