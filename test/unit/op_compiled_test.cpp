// Every op's samples, compiled against interpreted: the op itself, and its gradient.
#include <gtest/gtest.h>

#include <cmath>

#include "op_cases.h"
#include "tapeless/autodiff/differentiate.h"
#include "tapeless/compiler/executable.h"
#include "tapeless/interp/interpret.h"
#include "tapeless/ir/print.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/ops/ops.h"

namespace tapeless {
namespace {

// Results of f32 ops come from other roundings than the interpreter's doubles: the tolerance is
// relative to the largest element, which bounds the terms of its sums.
double tolerance(const Tensor& want) {
  if (!is_float(want.dtype())) return 0;
  double largest = 1;
  for (int64_t i = 0; i < want.numel(); ++i)
    if (std::isfinite(want.get(i))) largest = std::max(largest, std::abs(want.get(i)));
  double unit = want.dtype() == DType::kF64 ? 1e-12 : want.dtype() == DType::kF32 ? 2e-5 : 1e-2;
  return unit * largest;
}

void expect_near(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.type_str(), want.type_str()) << what;
  for (int64_t i = 0; i < want.numel(); ++i) {
    double a = got.get(i), b = want.get(i);
    bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance(want);
    ASSERT_TRUE(same) << what << "\nelement " << i << ": compiled " << a << ", interpreted " << b;
  }
}

void expect_same(const Module& module, const std::string& entry, const std::vector<Tensor>& args) {
  const std::string what = print(*module.find(entry));
  std::vector<Tensor> copies;
  for (const Tensor& t : args) copies.push_back(t.clone());
  std::vector<Tensor> want = interpret(module, entry, args);
  std::vector<Tensor> got;
  try {
    got = compile(module, {.entries = {entry}})->run(entry, copies);
  } catch (const std::exception& e) {
    FAIL() << what << e.what();
  }
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) expect_near(got[i], want[i], what);
}

class OpCompiled : public testing::TestWithParam<const OpDef*> {
 protected:
  // The sample in a form that compiles, and the name of its function.
  static std::pair<Module, std::string> specialized(Sample& sample) {
    if (!sample.def->differs_by_mode()) {
      sample.module.stage = std::max(Stage::kSpecialized, sample.module.stage);
      return {std::move(sample.module), "sample"};
    }
    ModeRequest request{"sample", Mode::kTrain};
    return {specialize(sample.module, {&request, 1}), "sample.train"};
  }

  static bool differentiable(const OpDef& def, const Function& f) {
    bool floats = false;
    for (const auto& p : f.params) floats |= is_float(p->type.dtype);
    for (const Value* r : f.results)
      if (!is_float(r->type.dtype) || r->type.row_sparse) return false;
    return floats && def.vjp != kNoGradient && def.vjp != kZeroGradient && !def.differs_by_mode();
  }
};

TEST_P(OpCompiled, EqualsTheInterpreter) {
  std::mt19937_64 generator(7);
  for (const OpCase& spec : GetParam()->cases) {
    Sample sample = make_sample(*GetParam(), spec, Precision::kAsWritten);
    auto [module, entry] = specialized(sample);
    expect_same(module, entry, draw_arguments(*module.find(entry), spec, generator));
  }
}

TEST_P(OpCompiled, GradientEqualsTheInterpreter) {
  std::mt19937_64 generator(8);
  for (const OpCase& spec : GetParam()->cases) {
    Sample sample = make_sample(*GetParam(), spec, Precision::kAsWritten);
    auto [module, entry] = specialized(sample);
    const Function& f = *module.find(entry);
    if (!differentiable(*GetParam(), f)) continue;
    GradientRequest request{.function = entry};
    for (const auto& p : f.params)
      if (is_float(p->type.dtype)) request.wrt.push_back(p->name);
    Module vjp = differentiate(module, request);
    const Function& g = *vjp.find(entry + ".vjp");
    expect_same(vjp, g.name, draw_arguments(g, spec, generator));
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, OpCompiled, testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tapeless
