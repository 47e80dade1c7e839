// Compiled loop IR against scalar evaluation in C++, over ragged sizes, on every target that this
// CPU runs; and the object cache.
#include "tapeless/codegen/compile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "tapeless/loop/philox.h"
#include "tapeless/loop/vectorize.h"
#include "tapeless/runtime/philox.h"
#include "tapeless/support/diagnostics.h"
#include "tapeless/tensor/dtype.h"

namespace tapeless {
namespace {

using loop::Access;
using loop::Body;
using loop::Buffer;
using loop::Elem;
using loop::Expr;
using loop::Kernel;
using loop::Local;
using loop::Prim;
using loop::Stmt;

constexpr int64_t kSizes[] = {0, 1, 7, 17, 4097};

std::vector<Target> targets() {
  std::vector<Target> result;
  for (const char* name : {"avx512", "avx2", "x86-64"}) {
    Target t = make_target(name);
    if (t.host_can_run) result.push_back(t);
  }
  return result;
}

// y[i] = fn(x[i]) for i < n, vectorised.
Kernel map_kernel(Elem in, Elem out, int lanes, const std::function<Expr(Expr)>& fn) {
  const Expr n = loop::var("n");
  const Buffer x = loop::buffer("x", in, Access::kRead);
  const Buffer y = loop::buffer("y", out, Access::kReadWrite);
  const Expr i = loop::var("i");
  Body body;
  body.store(y, i, fn(load(x, i)));
  const Stmt scalar = for_loop(i, loop::i64(0), n, loop::i64(1), body.finish());
  return {.name = "map",
          .buffers = {x, y},
          .sizes = {n},
          .body = lanes == 1 ? scalar : vectorize(scalar, lanes)};
}

template <class In, class Out>
void expect_map(Elem in, Elem out, const std::function<Expr(Expr)>& fn,
                const std::function<Out(In)>& reference, std::vector<In> values) {
  for (const Target& target : targets()) {
    for (const int lanes : {1, 4, 16, 64}) {
      const Kernel kernel = map_kernel(in, out, lanes, fn);
      const CompiledKernels code = compile_kernels({&kernel, 1}, target, nullptr);
      for (const int64_t n : kSizes) {
        std::vector<In> x(static_cast<size_t>(n) + 1);
        for (size_t i = 0; i < x.size(); ++i) x[i] = values[i % values.size()];
        const Out guard{};
        std::vector<Out> y(x.size(), guard);
        void* buffers[] = {x.data(), y.data()};
        code.function(0)(buffers, &n, nullptr, 0, 1);
        for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
          const Out want = reference(x[i]);
          ASSERT_TRUE(y[i] == want || (y[i] != y[i] && want != want))
              << target.machine.name << " lanes " << lanes << " at " << +x[i] << ": " << +y[i]
              << " for " << +want;
        }
        ASSERT_EQ(y.back(), guard);
      }
    }
  }
}

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kFloats = {0.0F,  1.5F, -2.5F, 3.7F, kInf,
                                    -kInf, kNan, -0.5F, 3e9F, 127.0F};
const std::vector<int64_t> kInts = {
    0, 1, -1, 7, -7, 100, -100, INT64_MAX, INT64_MIN, INT64_MAX - 5, 1LL << 53, -(1LL << 52) - 1};

TEST(Codegen, FloatArithmetic) {
  expect_map<float, float>(
      Elem::kF32, Elem::kF32, [](Expr x) { return fma(x, x * 2.0, loop::f32(0.25)) / (x - 1.0); },
      [](float x) { return std::fmaf(x, x * 2, 0.25F) / (x - 1); }, kFloats);
  expect_map<float, float>(
      Elem::kF32, Elem::kF32, [](Expr x) { return max(min(x, loop::f32(1)), loop::f32(-1)); },
      [](float x) { return x != x ? x : std::fmax(std::fmin(x, 1), -1); }, kFloats);
  expect_map<float, float>(
      Elem::kF32, Elem::kF32, [](Expr x) { return max(loop::f32(0), x); },
      [](float x) { return x != x ? x : std::fmax(x, 0); }, kFloats);
  expect_map<float, float>(
      Elem::kF32, Elem::kF32,
      [](Expr x) {
        return prim(Prim::kFloor, {x}) + 2.0 * prim(Prim::kRoundEven, {x}) - prim(Prim::kAbs, {x});
      },
      [](float x) { return std::floor(x) + 2 * std::nearbyintf(x) - std::fabs(x); }, kFloats);
  expect_map<double, double>(
      Elem::kF64, Elem::kF64,
      [](Expr x) { return prim(Prim::kTanh, {x}) + prim(Prim::kPow, {x, x}); },
      [](double x) { return std::tanh(x) + std::pow(x, x); }, {0.5, 2, 3, -1});
}

TEST(Codegen, IntegersFloorAndNeverTrap) {
  auto floor_mod = [](int64_t a, int64_t b) -> int64_t {
    if (b == 0 || b == -1) return 0;
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  };
  for (const int64_t divisor : {1, 3, 8, -3, -1, 0}) {
    expect_map<int64_t, int64_t>(
        Elem::kI64, Elem::kI64, [&](Expr x) { return x % loop::i64(divisor); },
        [&](int64_t x) { return floor_mod(x, divisor); }, kInts);
  }
  expect_map<int64_t, int64_t>(
      Elem::kI64, Elem::kI64, [](Expr x) { return loop::i64(100) / x; },
      [](int64_t x) -> int64_t {
        if (x == 0) return 0;
        return 100 / x - (100 % x != 0 && x < 0);
      },
      kInts);
  expect_map<uint32_t, uint32_t>(
      Elem::kU32, Elem::kU32,
      [](Expr x) { return prim(Prim::kMulHi, {x, loop::u32(0xD2511F53)}) + x / 7; },
      [](uint32_t x) { return static_cast<uint32_t>((uint64_t{x} * 0xD2511F53U) >> 32) + x / 7; },
      {0, 1, 77, 0xffffffff, 0x80000000});
}

__extension__ using Wide = __int128;

// x // c and x % c for a c that is known only at run time.
TEST(Codegen, DivisionByARunTimeSize) {
  const Expr n = loop::var("n"), c = loop::var("c"), i = loop::var("i");
  const Buffer x = loop::buffer("x", Elem::kI64, Access::kRead);
  const Buffer y = loop::buffer("y", Elem::kI64, Access::kWrite);
  const Expr v = load(x, i);
  const Stmt both = loop::block({store(y, i * 2, v / c), store(y, i * 2 + 1, v % c + v / c)});
  const Kernel kernel = {.name = "divide",
                         .buffers = {x, y},
                         .sizes = {n, c},
                         .body = vectorize(for_loop(i, loop::i64(0), n, loop::i64(1), both), 16)};
  std::vector<int64_t> in = kInts;
  std::mt19937_64 random(2);
  for (int k = 0; k < 2000; ++k) in.push_back(static_cast<int64_t>(random()) >> (random() % 64));
  for (const Target& target : targets()) {
    const CompiledKernels code = compile_kernels({&kernel, 1}, target, nullptr);
    for (const int64_t divisor :
         {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{1000003}, (int64_t{1} << 51) + 1,
          int64_t{1} << 53, INT64_MAX, int64_t{0}, int64_t{-1}, int64_t{-5}}) {
      std::vector<int64_t> out(2 * in.size());
      void* buffers[] = {in.data(), out.data()};
      const int64_t sizes[] = {static_cast<int64_t>(in.size()), divisor};
      code.function(0)(buffers, sizes, nullptr, 0, 1);
      for (size_t k = 0; k < in.size(); ++k) {
        const Wide a = in[k];
        Wide q = divisor == 0 ? 0 : a / divisor;
        if (divisor != 0 && a % divisor != 0 && (a < 0) != (divisor < 0)) --q;
        const auto r = static_cast<int64_t>(divisor == 0 ? 0 : a - q * divisor);
        ASSERT_EQ(out[2 * k], static_cast<int64_t>(q)) << in[k] << " / " << divisor;
        ASSERT_EQ(out[2 * k + 1], static_cast<int64_t>(r + q)) << in[k] << " % " << divisor;
      }
    }
  }
}

TEST(Codegen, Casts) {
  expect_map<float, int32_t>(
      Elem::kF32, Elem::kI32, [](Expr x) { return cast(Elem::kI32, x); },
      [](float x) -> int32_t {
        if (x != x) return 0;
        return x >= 2147483648.0F   ? INT32_MAX
               : x < -2147483648.0F ? INT32_MIN
                                    : static_cast<int>(x);
      },
      kFloats);
  expect_map<float, uint8_t>(
      Elem::kF32, Elem::kBool, [](Expr x) { return cast(Elem::kBool, x) & (x < 3.0); },
      [](float x) -> uint8_t { return x != 0 && x < 3; }, kFloats);
  expect_map<uint8_t, float>(
      Elem::kBool, Elem::kF32, [](Expr x) { return cast(Elem::kF32, logical_not(x)); },
      [](uint8_t x) { return x ? 0.0F : 1.0F; }, {0, 1});
  std::vector<float> values = kFloats;
  for (const float v : {1.00390625F, 1.01171875F, 1e-40F, 65519.0F, 65520.0F, 6e-8F}) {
    values.push_back(v);
  }
  expect_map<float, float>(
      Elem::kF32, Elem::kF32, [](Expr x) { return cast(Elem::kF32, cast(Elem::kBF16, x)); },
      [](float x) { return static_cast<float>(BF16(x)); }, values);
  expect_map<float, float>(
      Elem::kF32, Elem::kF32, [](Expr x) { return cast(Elem::kF32, cast(Elem::kF16, x)); },
      [](float x) { return static_cast<float>(F16(x)); }, values);
}

TEST(Codegen, ConditionsBecomeMasks) {
  const Expr n = loop::var("n");
  const Buffer x = loop::buffer("x", Elem::kF32, Access::kRead);
  const Buffer y = loop::buffer("y", Elem::kF32, Access::kReadWrite);
  const Expr i = loop::var("i");
  Body body;
  const Local t = body.make_local("t", {Elem::kF32});
  body.store_local(t, 0, loop::f32(-1));
  body.when(
      load(x, i) > 0.0, [&](Body& b) { b.store_local(t, 0, load(x, i) + 1.0); },
      [&](Body& b) { b.store(y, i + n, load(x, i)); });
  body.store(y, i, load_local(t));
  const Stmt loop = for_loop(i, loop::i64(0), n, loop::i64(1), body.finish());
  const Kernel kernels[] = {
      {.name = "vector", .buffers = {x, y}, .sizes = {n}, .body = vectorize(loop, 16)},
      {.name = "scalar", .buffers = {x, y}, .sizes = {n}, .body = loop}};
  for (const Target& target : targets()) {
    const CompiledKernels code = compile_kernels(kernels, target, nullptr);
    for (const int64_t size : kSizes) {
      std::vector<float> in(static_cast<size_t>(size)), a(2 * in.size(), 9), b(2 * in.size(), 9);
      for (size_t k = 0; k < in.size(); ++k) in[k] = static_cast<float>(k % 5) - 2;
      void* into_a[] = {in.data(), a.data()};
      void* into_b[] = {in.data(), b.data()};
      code.function(0)(into_a, &size, nullptr, 0, 1);
      code.function(1)(into_b, &size, nullptr, 0, 1);
      EXPECT_EQ(a, b);
    }
  }
}

// acc = op(acc, x[i]) over 64 lanes, then a tree.
TEST(Codegen, ReductionsHaveTheSameBitsOnEveryTarget) {
  const Expr n = loop::var("n");
  const Buffer x = loop::buffer("x", Elem::kF32, Access::kRead);
  const Buffer y = loop::buffer("y", Elem::kF32, Access::kWrite);
  std::vector<Kernel> kernels;
  for (const Prim op : {Prim::kAdd, Prim::kMax, Prim::kMin, Prim::kMul}) {
    const Expr i = loop::var("i");
    const Local acc = loop::local("acc", {Elem::kF32});
    const Stmt add = store_local(acc, loop::i64(0), prim(op, {loop::load_local(acc), load(x, i)}));
    const Stmt sum = vectorize(for_loop(i, loop::i64(0), n, loop::i64(1), add), 64);
    ASSERT_TRUE(static_cast<bool>(sum));
    const Stmt init = store_local(acc, loop::i64(0), identity(op, {Elem::kF32}));
    const Stmt result = store(y, loop::i64(0), loop::load_local(acc));
    kernels.push_back({.name = "reduce",
                       .buffers = {x, y},
                       .sizes = {n},
                       .body = with_local(acc, loop::block({init, sum, result}))});
  }
  std::mt19937 random(1);
  for (const int64_t size : kSizes) {
    std::vector<float> in(static_cast<size_t>(size));
    for (float& v : in) v = std::ldexp(static_cast<float>(random() % 4096 + 4000), -12);
    std::vector<std::vector<float>> results;
    for (const Target& target : targets()) {
      const CompiledKernels code = compile_kernels(kernels, target, nullptr);
      std::vector<float> out(kernels.size());
      for (size_t k = 0; k < kernels.size(); ++k) {
        void* buffers[] = {in.data(), &out[k]};
        code.function(k)(buffers, &size, nullptr, 0, 1);
      }
      results.push_back(out);
    }
    for (const auto& r : results) EXPECT_EQ(r, results[0]);
    double sum = 0;
    for (const float v : in) sum += v;
    EXPECT_NEAR(results[0][0], sum, 1e-6 * sum);
    EXPECT_EQ(results[0][1], size ? *std::max_element(in.begin(), in.end()) : -kInf);
    EXPECT_EQ(results[0][2], size ? *std::min_element(in.begin(), in.end()) : kInf);
  }
}

TEST(Codegen, TasksScratchAndLocalsOnTheStack) {
  const Expr n = loop::var("n"), task = loop::var("task");
  const Buffer y = loop::buffer("y", Elem::kI64, Access::kWrite);
  const Buffer s = loop::buffer("s", Elem::kI64, Access::kScratch, n * 64);
  Body body;
  const Local l = body.make_local("l", {Elem::kI64}, 8);
  body.loop("i", loop::i64(0), n, [&](Body& b, Expr i) {
    b.store(s, i, i * 10);
    b.store_local(l, i % 8, i);
  });
  body.store(y, task, load(s, n - 1) + load_local(l, (n - 1) % 8) + task);
  const Kernel kernel = {.name = "k",
                         .buffers = {s, y},
                         .sizes = {n},
                         .scratch_bytes = n * 64 + n * 8,
                         .tasks = n,
                         .task = task,
                         .body = body.finish()};
  for (const Target& target : targets()) {
    const CompiledKernels code = compile_kernels({&kernel, 1}, target, nullptr);
    const int64_t size = 11;
    std::vector<int64_t> out(11, -1), scratch(11 * 9);
    void* buffers[] = {out.data()};
    code.function(0)(buffers, &size, scratch.data(), 2, 11);
    for (int64_t t = 0; t < 11; ++t) EXPECT_EQ(out[t], t < 2 ? -1 : 110 + t);
  }
}

TEST(Codegen, PhiloxEqualsTheReference) {
  const Expr n = loop::var("n");
  const Buffer y = loop::buffer("y", Elem::kU32, Access::kWrite);
  const Expr i = loop::var("i");
  const Expr key = loop::philox_fold_in(loop::int_constant({Elem::kU64}, 42),
                                        loop::int_constant({Elem::kU64}, -3));
  Body body;
  const auto words = loop::philox_block(key, cast(Elem::kU64, i));
  for (int w = 0; w < 4; ++w) body.store(y, i * 4 + w, words[static_cast<size_t>(w)]);
  const Stmt loop = for_loop(i, loop::i64(0), n, loop::i64(1), body.finish());
  const Kernel kernel = {.name = "bits", .buffers = {y}, .sizes = {n}, .body = vectorize(loop, 16)};
  const uint64_t reference_key = philox_fold_in(42, static_cast<uint64_t>(-3));
  for (const Target& target : targets()) {
    const CompiledKernels code = compile_kernels({&kernel, 1}, target, nullptr);
    const int64_t blocks = 37;
    std::vector<uint32_t> out(4 * 37);
    void* buffers[] = {out.data()};
    code.function(0)(buffers, &blocks, nullptr, 0, 1);
    for (size_t e = 0; e < out.size(); ++e)
      ASSERT_EQ(out[e], philox_block(reference_key, e / 4)[e % 4]);
  }
}

TEST(Target, UnknownNameIsTheUsersMistake) {
  try {
    make_target("pentium");
    FAIL() << "accepted";
  } catch (const DataError& e) {
    EXPECT_STREQ(e.what(), "unknown CPU `pentium`: expected native, avx512, avx2 or portable");
  }
  EXPECT_FALSE(make_target("native").machine.name.empty());
}

// --- The cache.

struct Folder {
  Folder() {
    static int serial = 0;
    path = std::filesystem::temp_directory_path() /
           ("tapeless-cache-" + std::to_string(getpid()) + "-" + std::to_string(serial++));
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

std::vector<Kernel> some_kernels() {
  std::vector<Kernel> kernels;
  for (const double c : {1.0, 2.0, 3.0, 1.0}) {  // the last equals the first
    kernels.push_back(map_kernel(Elem::kF32, Elem::kF32, 16, [c](Expr x) { return x * x + c; }));
  }
  return kernels;
}

float run_one(const CompiledKernels& code, size_t i, float x) {
  float y = 0;
  const int64_t n = 1;
  void* buffers[] = {&x, &y};
  code.function(i)(buffers, &n, nullptr, 0, 1);
  return y;
}

TEST(ObjectCache, SecondCompileGeneratesNothing) {
  const Folder folder;
  const ObjectCache cache(folder.path);
  const Target target = make_target("native");
  const auto kernels = some_kernels();
  const CompiledKernels first = compile_kernels(kernels, target, &cache);
  EXPECT_EQ(first.stats().distinct, 3);
  EXPECT_EQ(first.stats().compiled, 3);
  EXPECT_EQ(first.function(0), first.function(3));
  const CompiledKernels second = compile_kernels(kernels, target, &cache);
  EXPECT_EQ(second.stats().compiled, 0);
  EXPECT_EQ(second.stats().cached, 3);
  RecordProperty("cold_ms", std::to_string(1e3 * first.stats().seconds));
  RecordProperty("warm_ms", std::to_string(1e3 * second.stats().seconds));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(run_one(first, i, 3), run_one(second, i, 3));
  const CompiledKernels other = compile_kernels(kernels, make_target("x86-64"), &cache);
  EXPECT_EQ(other.stats().cached, 0) << "another target must not find this code";
}

TEST(ObjectCache, DamagedFilesAreMadeAgain) {
  const Folder folder;
  const ObjectCache cache(folder.path);
  const Target target = make_target("native");
  const auto kernels = some_kernels();
  compile_kernels(kernels, target, &cache);
  int kind = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    if (kind == 0) std::filesystem::resize_file(entry.path(), 5);
    if (kind == 1) std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
    if (kind == 2) {
      std::fstream f(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      f.seekp(200);
      f.put('\x5a');
    }
    ++kind;
  }
  const CompiledKernels code = compile_kernels(kernels, target, &cache);
  EXPECT_EQ(code.stats().compiled, 3);
  EXPECT_EQ(run_one(code, 1, 3), 11);
  EXPECT_EQ(compile_kernels(kernels, target, &cache).stats().cached, 3);
}

TEST(ObjectCache, UnwritableFolderOnlyCosts) {
  const ObjectCache cache("/proc/nowhere");
  const auto kernels = some_kernels();
  EXPECT_EQ(run_one(compile_kernels(kernels, make_target("native"), &cache), 2, 2), 7);
}

TEST(ObjectCache, IsBoundedAndShared) {
  const Folder folder;
  const ObjectCache cache(folder.path, 10'000);
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 40; ++i) {
        const std::string key = "k" + std::to_string((i + w) % 20);
        const std::string value(1000, key.back());
        EXPECT_EQ(cache.find(key).value_or(value), value);
        cache.store(key, value);
        if (i % 10 == 9) cache.trim();
      }
    });
  }
  for (std::thread& t : writers) t.join();
  cache.trim();
  uint64_t total = 0;
  for (const auto& e : std::filesystem::directory_iterator(folder.path)) {
    EXPECT_EQ(e.path().extension(), ".tlo");
    total += e.file_size();
  }
  EXPECT_LE(total, 10'000U);
}

}  // namespace
}  // namespace tapeless
