// Compiled gradients of every op against the interpreter: close to the references, and the same
// bits with one thread, with three threads and without fusion.
#include <gtest/gtest.h>

#include <cmath>

#include "op_cases.h"
#include "tapeless/autodiff/differentiate.h"
#include "tapeless/compiler/executable.h"
#include "tapeless/interp/interpret.h"
#include "tapeless/ir/print.h"
#include "tapeless/ops/ops.h"

namespace tapeless {
namespace {

class CompiledGradients : public testing::TestWithParam<const OpDef*> {};

// The ways to compile, which must agree to the bit.
std::vector<Tensor> run_compiled(const Module& module, const std::string& name,
                                 const std::vector<Tensor>& arguments, int threads, bool fuse) {
  CompileOptions options;
  options.entries = {name};
  options.threads = threads;
  options.fuse = fuse;
  return compile(module, options)->run(name, arguments);
}

// Relative to the largest element: sums cancel.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-12;
    case DType::kF32:
      return 1e-5;
    case DType::kBF16:
      return 1e-2;
    case DType::kF16:
      return 2e-3;
    default:
      return 0;
  }
}

void expect_close(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.type_str(), want.type_str()) << what;
  double largest = 1;
  for (int64_t i = 0; i < want.numel(); ++i)
    if (std::isfinite(want.get(i))) largest = std::max(largest, std::abs(want.get(i)));
  double allowed = tolerance(want.dtype()) * largest;
  for (int64_t i = 0; i < want.numel(); ++i) {
    if (!is_float(want.dtype())) {
      ASSERT_EQ(got.get_int(i), want.get_int(i)) << "element " << i << " of\n" << what;
      continue;
    }
    double a = got.get(i), b = want.get(i);
    bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= allowed;
    ASSERT_TRUE(same) << a << " for " << b << " at element " << i << " of\n" << what;
  }
}

void compare(const Module& module, const std::string& name, const std::vector<Tensor>& arguments) {
  std::string what = print(*module.find(name));
  auto want = interpret(module, name, arguments);
  auto got = run_compiled(module, name, arguments, 1, true);
  auto threads = run_compiled(module, name, arguments, 3, true);
  auto unfused = run_compiled(module, name, arguments, 1, false);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    std::string which = fmt::format("result {} of\n{}", i, what);
    expect_close(got[i], want[i], which);
    EXPECT_TRUE(same_bits(got[i], threads[i])) << "three threads, " << which;
    EXPECT_TRUE(same_bits(got[i], unfused[i])) << "without fusion, " << which;
  }
}

// Adds `<name>.vjp`; false where there is nothing to differentiate.
bool add_gradient(Module& module, const std::string& name) {
  const Function& f = *module.find(name);
  GradientRequest request{name, {}, {}};
  for (int i = 0; i < f.param_count(); ++i)
    if (is_float(f.param(i)->type.dtype) && f.roles[static_cast<size_t>(i)] != Role::kState)
      request.wrt.push_back(f.param(i)->name);
  bool any = false;
  for (size_t i = 0; i < f.results.size(); ++i)
    any |= is_float(f.results[i]->type.dtype) && !f.result_names[i].starts_with("%");
  if (!any || request.wrt.empty()) return false;
  module = differentiate(module, request);
  return !has_row_sparse(module);
}

void check(const OpDef& def, const OpCase& spec, Mode mode, std::mt19937_64& generator) {
  Sample sample = make_sample(def, spec, Precision::kAsWritten);
  if (has_row_sparse(sample.module)) return;
  std::string name = in_mode(sample.module, mode);
  const Function& f = *sample.module.find(name);
  std::vector<Tensor> arguments = draw_arguments(f, spec, generator);
  if (!add_gradient(sample.module, name)) return;
  const Function& gradient = *sample.module.find(name + ".vjp");
  std::vector<Tensor> all = draw_arguments(gradient, spec, generator);
  std::copy(arguments.begin(), arguments.end(), all.begin());
  compare(sample.module, gradient.name, all);
}

TEST_P(CompiledGradients, AgreeWithTheInterpreter) {
  const OpDef& def = *GetParam();
  if (def.vjp == kNoGradient || def.vjp == kZeroGradient) return;
  std::mt19937_64 generator(11);
  for (const OpCase& spec : def.cases)
    for (Mode mode : modes_of(def)) {
      check(def, spec, mode, generator);
      if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(AllOps, CompiledGradients,
                         testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tapeless
