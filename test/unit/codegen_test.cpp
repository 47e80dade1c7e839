// Compiled loop IR against scalar evaluation in C++, on every target that this CPU runs.
#include "tapeless/codegen/compile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tapeless/loop/print.h"

namespace tapeless {
namespace {

using loop::Access;
using loop::Body;
using loop::Buffer;
using loop::Elem;
using loop::Expr;
using loop::Kernel;

std::vector<Target> targets() {
  std::vector<Target> result;
  for (const char* name : {"avx512", "avx2", "x86-64"}) {
    Target t = make_target(name);
    if (t.host_can_run) result.push_back(t);
  }
  return result;
}

Kernel axpy(int lanes) {
  const Expr n = loop::var("n");
  const Buffer x = loop::buffer("x", Elem::kF32, Access::kRead);
  const Buffer y = loop::buffer("y", Elem::kF32, Access::kReadWrite);
  Body body;
  body.loop("i", loop::i64(0), n, loop::i64(lanes), [&](Body& b, Expr i) {
    const Expr at = ramp(i, lanes);
    const Expr mask = at < n;
    b.store(y, at, fma(load(x, at, mask), loop::f32(2), load(y, at, mask)), mask);
  });
  return {.name = "axpy", .buffers = {x, y}, .sizes = {n}, .body = body.finish()};
}

TEST(Codegen, MaskedVectorLoop) {
  for (const Target& target : targets()) {
    for (const int lanes : {4, 16, 32}) {
      const Kernel kernel = axpy(lanes);
      const CompiledKernels code = compile_kernels({&kernel, 1}, target, nullptr);
      for (const int64_t n : {0, 1, 7, 17, 4097}) {
        std::vector<float> x(n + 1), y(n + 1);
        for (int64_t i = 0; i <= n; ++i) x[i] = static_cast<float>(i), y[i] = 1;
        void* buffers[] = {x.data(), y.data()};
        code.function(0)(buffers, &n, nullptr, 0, 1);
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], 2.0F * static_cast<float>(i) + 1);
        ASSERT_EQ(y[n], 1);
      }
    }
  }
}

}  // namespace
}  // namespace tapeless
