// The loop IR itself: folding, text, verifier, and vectorisation seen as text. That vectorised code
// computes the same is tested in codegen_test.
#include "tapeless/loop/loop.h"

#include <gtest/gtest.h>

#include "tapeless/loop/print.h"
#include "tapeless/loop/simplify.h"
#include "tapeless/loop/vectorize.h"
#include "tapeless/loop/verify.h"
#include "tapeless/support/check.h"

namespace tapeless::loop {
namespace {

const Expr n = var("n");

TEST(LoopExpr, FoldsIndexArithmetic) {
  const Expr i = var("i");
  EXPECT_EQ(print(i * 1 + 0), "i");
  EXPECT_EQ(print((i + 2) + 3), "(i + 5)");
  EXPECT_EQ(print((i + 2) - 2), "i");
  EXPECT_EQ(print(4 * i * 8), "(i * 32)");
  EXPECT_EQ(print(i * 0 + 7), "7");
  EXPECT_EQ(print(i64(-7) / 2), "-4");
  EXPECT_EQ(print(i64(-7) % 2), "1");
  EXPECT_EQ(print(ramp(i, 8) * 3 + 5), "ramp8(((i * 3) + 5), 3)");
  EXPECT_EQ(print(broadcast(i, 8) + broadcast(n, 8)), "x8((i + n))");
  EXPECT_EQ(print((i * 12 + n) / 4), "((i * 3) + (n // 4))");
  EXPECT_EQ(print((n + i * 12) % 4), "(n % 4)");
  EXPECT_EQ(print((i * 8 + 5) / 8), "i");
  EXPECT_EQ(print((i * 8 + 5) % 8), "5");
  EXPECT_EQ(print(select(boolean(true), i, n)), "i");
}

TEST(LoopExpr, EvaluatesSizes) {
  const Expr m = var("m");
  const Expr sizes[] = {n, m};
  const int64_t values[] = {10, 3};
  EXPECT_EQ(evaluate(ceil_div(n, i64(4)) * m + max(n, m), sizes, values), 19);
}

TEST(LoopExpr, SharedNodesPrintOnce) {
  const Expr x = f32(2) * var("x", {Elem::kF32});
  Expr power = x;
  for (int i = 0; i < 3; ++i) power = power * power;
  EXPECT_EQ(print(power), "($2=($1=($0=(2f * x) * $0) * $1) * $2)");
}

TEST(LoopSimplify, UsesLoopBounds) {
  const Buffer x = buffer("x", Elem::kI64, Access::kReadWrite);
  Body body;
  body.loop("once", i64(2), i64(3), [&](Body& b, Expr once) { b.store(x, once, once * 2); });
  body.loop("i", i64(0), i64(4), [&](Body& b, Expr i) {
    b.loop("j", i64(0), n, [&](Body& c, Expr j) {
      const Expr at = c.let("at", j * 8 + i);
      c.when(i < 4, [&](Body& d) { d.store(x, at % 8, at / 8 + i / 4 + i % 4); });
      c.when(j >= 0, [&](Body& d) { d.store(x, j, min(i, i64(3)) + max(j, i)); });
      c.when(i > 3, [&](Body& d) { d.store(x, j, i); });
      c.when(j < n, [&](Body& d) { d.store(x, j + (int64_t{1} << 40), (i + 5) / 8); });
    });
  });
  EXPECT_EQ(print(simplify(body.finish())), R"(x[2] = 4
for i in 0..4 {
  for j in 0..n {
    at: i64 = ((j * 8) + i)
    x[(at % 8)] = ((at // 8) + i)
    x[j] = (i + max(j, i))
    if (j < n) {
      x[(j + 1099511627776)] = ((i + 5) // 8)
    }
  }
}
)");
}

Kernel scale_kernel(const std::string& name, const std::string& buffer_name) {
  const Expr size = var("n");
  const Buffer x = buffer(buffer_name, Elem::kF32, Access::kReadWrite);
  Body body;
  body.loop("i", i64(0), size, [&](Body& b, Expr i) {
    const Expr v = b.let("v", load(x, i));
    b.when(v > 0.0, [&](Body& then) { then.store(x, i, v * v); });
  });
  return {.name = name, .buffers = {x}, .sizes = {size}, .body = body.finish()};
}

TEST(LoopPrint, Kernel) {
  EXPECT_EQ(print(scale_kernel("k", "x")), R"(kernel k(readwrite x: f32) sizes(n) {
  for i in 0..n {
    v: f32 = x[i]
    if (v > 0f) {
      x[i] = (v * v)
    }
  }
}
)");
  EXPECT_EQ(canonical_text(scale_kernel("k", "x")), canonical_text(scale_kernel("k2", "other")));
}

void expect_invalid(Kernel kernel, Stmt body, const std::string& message) {
  kernel.body = std::move(body);
  try {
    verify(kernel);
    FAIL() << "accepted: expected " << message;
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
  }
}

TEST(LoopVerify, NamesWhatIsWrong) {
  const Kernel good = scale_kernel("k", "x");
  verify(good);
  const Buffer x = good.buffers[0];
  const Buffer other = buffer("other", Elem::kF32, Access::kRead);
  const Local l = local("acc", {Elem::kF32, 8});
  expect_invalid(good, store(x, var("i"), f32(0)), "i is not in scope");
  expect_invalid(good, store(x, i64(0), f64(0)), "f64 of 1 lanes stored to f32 x");
  expect_invalid(good, store(x, i64(0), load(other, i64(0))), "buffer other is not one");
  expect_invalid(good, store_local(l, i64(0), f32(0)), "local acc is not in scope");
  expect_invalid(good, with_local(l, store_local(l, i64(0), load_local(l, 3))), "acc[3] of 1");
  expect_invalid(good, store(x, i32(0), f32(0)), "index of type i32");
  expect_invalid(good, store(x, i64(0), prim(Prim::kShl, {f32(1), f32(2)})), "shl of f32");
}

std::string vectorized(const std::function<void(Body&, Expr)>& fn) {
  const Expr i = var("i");
  Body body;
  fn(body, i);
  const Stmt result = vectorize(for_loop(i, i64(0), n, i64(1), body.finish()), 8);
  return result ? print(result) : "";
}

const Buffer x = buffer("x", Elem::kF32, Access::kReadWrite);
const Buffer y = buffer("y", Elem::kF32, Access::kReadWrite);

TEST(Vectorize, MapWithUniformAndStridedLoads) {
  EXPECT_EQ(vectorized([](Body& b, Expr i) {
              const Expr s = b.let("s", load(y, i64(0)));
              b.store(y, i, load(x, i) * s + load(x, i * 2));
            }),
            R"(rest: i64 = ((n // 8) * 8)
for i in 0..rest step 8 {
  s: f32 = y[0]
  y[$0=ramp8(i, 1)] = ((x[$0] * x8(s)) + x[ramp8((i * 2), 2)])
}
if (rest < n) {
  s_1: f32 = y[0]
  y[$0=ramp8(rest, 1)] = (((x[$0] if $1=($0 < x8(n))) * x8(s_1)) + (x[ramp8((rest * 2), 2)] if $1)) if $1
}
)");
}

TEST(Vectorize, KnownMultipleHasNoTail) {
  const Expr i = var("i");
  const Stmt s = vectorize(for_loop(i, i64(0), i64(32), i64(1), store(x, i, f32(1))), 16);
  EXPECT_EQ(print(s), "for i in 0..32 step 16 {\n  x[ramp16(i, 1)] = x16(1f)\n}\n");
}

TEST(Vectorize, RefusesWhatVariesInOnePlace) {
  EXPECT_EQ(vectorized([](Body& b, Expr i) { b.store(y, i64(0), load(x, i)); }), "");
  EXPECT_EQ(vectorized([](Body& b, Expr i) {
              b.loop("j", i64(0), i, [&](Body& c, Expr j) { c.store(y, i, load(x, j)); });
            }),
            "");
  const Local acc = local("acc", {Elem::kF32});
  EXPECT_EQ(vectorized([&](Body& b, Expr i) {  // a running sum is no reduction
              b.store_local(acc, 0, load_local(acc) + load(x, i));
              b.store(y, i, load_local(acc));
            }),
            "");
}

}  // namespace
}  // namespace tapeless::loop
