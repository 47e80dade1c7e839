// Vector math against double precision: at most 2 ulp over strided bit patterns of every f32, and
// the same bits at every number of lanes.
#include "tapeless/loop/vector_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tapeless/codegen/compile.h"

namespace tapeless {
namespace {

using loop::Access;
using loop::Body;
using loop::Buffer;
using loop::Elem;
using loop::Expr;
using loop::Kernel;
using loop::Prim;

Kernel map_kernel(Prim op, int lanes) {
  const Expr n = loop::var("n");
  const Buffer x = loop::buffer("x", Elem::kF32, Access::kRead);
  const Buffer y = loop::buffer("y", Elem::kF32, Access::kWrite);
  Body body;
  body.loop("i", loop::i64(0), n, loop::i64(lanes), [&](Body& b, Expr i) {
    const Expr at = ramp(i, lanes);
    b.store(y, at, prim(op, {load(x, at)}));
  });
  return {.name = prim_name(op), .buffers = {x, y}, .sizes = {n}, .body = body.finish()};
}

struct Function {
  Prim op;
  double (*reference)(double);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }

const Function kFunctions[] = {
    {Prim::kExp, std::exp},     {Prim::kLog, std::log},   {Prim::kLog1p, std::log1p},
    {Prim::kExpm1, std::expm1}, {Prim::kTanh, std::tanh}, {Prim::kErf, std::erf},
    {Prim::kSigmoid, sigmoid},  {Prim::kSin, std::sin},   {Prim::kCos, std::cos},
    {Prim::kRsqrt, rsqrt},
};

// Distance from the exact value in units of its last place as an f32.
double ulp_error(float got, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    const double limit = std::numeric_limits<float>::max();  // one of them just overflowed
    return std::isnan(got) || std::abs(exact) < limit * (1 - 1e-6) ? 1e9 : 1;
  }
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : 1e9;
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::abs(static_cast<double>(got) - exact) / ulp;
}

std::vector<float> strided_patterns(uint32_t stride) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= 0xffffffffU; bits += stride) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (const float special : {0.0F, -0.0F, 1.0F, -1.0F, 88.72284F, 88.72283F, -87.33655F, -103.97F,
                              -104.0F, 0.625F, 0.921875F, 1e-45F, -1e-45F}) {
    x.push_back(special);
  }
  x.push_back(std::numeric_limits<float>::infinity());
  x.push_back(-std::numeric_limits<float>::infinity());
  x.push_back(std::numeric_limits<float>::quiet_NaN());
  while (x.size() % 32 != 0) x.push_back(0.5F);
  return x;
}

TEST(VectorMath, TwoUlp) {
  const std::vector<float> x = strided_patterns(7919);
  std::vector<float> y(x.size()), wide(x.size());
  for (const char* isa : {"avx512", "avx2", "x86-64"}) {
    const Target target = make_target(isa);
    if (!target.host_can_run) continue;
    for (const Function& f : kFunctions) {
      const Kernel kernels[] = {map_kernel(f.op, target.machine.lanes(Elem::kF32)),
                                map_kernel(f.op, 32)};
      const CompiledKernels code = compile_kernels(kernels, target, nullptr);
      const auto n = static_cast<int64_t>(x.size());
      const void* in = x.data();
      for (auto [i, out] : {std::pair{0, &y}, std::pair{1, &wide}}) {
        void* buffers[] = {const_cast<void*>(in), out->data()};
        code.function(static_cast<size_t>(i))(buffers, &n, nullptr, 0, 1);
      }
      double worst = 0;
      float at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_TRUE(std::bit_cast<uint32_t>(y[i]) == std::bit_cast<uint32_t>(wide[i]) ||
                    std::isnan(y[i]));
        const double e = ulp_error(y[i], f.reference(x[i]));
        if (e > worst) worst = e, at = x[i];
      }
      RecordProperty(std::string(isa) + "_" + prim_name(f.op), std::to_string(worst));
      EXPECT_LE(worst, 2.0) << isa << " " << prim_name(f.op) << " at " << at;
    }
  }
}

}  // namespace
}  // namespace tapeless
