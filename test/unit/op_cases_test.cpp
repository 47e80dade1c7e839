// Tests generated from the table of ops: every op says what it must, prints and parses, and has the
// gradient that central differences of its reference give, to second order where it can.
#include <gtest/gtest.h>

#include <cmath>

#include "op_cases.h"
#include "tapeless/autodiff/differentiate.h"
#include "tapeless/interp/interpret.h"
#include "tapeless/ir/equal.h"
#include "tapeless/ir/print.h"
#include "tapeless/ir/verify.h"
#include "tapeless/ops/expand.h"
#include "tapeless/ops/ops.h"
#include "tapeless/text/parse.h"

namespace tapeless {
namespace {

class OpCases : public testing::TestWithParam<const OpDef*> {
 protected:
  // The whole case in each message.
  static std::string describe(const Sample& s) { return print(s.function()); }
};

TEST_P(OpCases, TableIsComplete) {
  const OpDef& def = *GetParam();
  bool structural = &def == &kCallOp || &def == &kFusedOp || &def == &kSetStateOp;
  EXPECT_FALSE(def.doc.empty());
  EXPECT_NE(def.result_type, nullptr);
  EXPECT_TRUE(def.vjp != nullptr || def.expand != nullptr || def.differs_by_mode());
  EXPECT_TRUE(structural || def.reference != nullptr || def.expand != nullptr ||
              def.differs_by_mode());
  EXPECT_TRUE(structural || &def == &kConstantOp || !def.cases.empty());
  for (const AttrDef& attr : def.attrs) EXPECT_FALSE(attr.doc.empty()) << attr.name;
}

TEST_P(OpCases, PrintsAndParses) {
  for (const OpCase& spec : GetParam()->cases) {
    Sample s = make_sample(*GetParam(), spec, Precision::kAsWritten);
    std::string text = print(s.module);
    Module again = parse(std::make_shared<SourceText>(SourceText{"printed", text}));
    EXPECT_EQ(print(again), text);
    EXPECT_TRUE(structurally_equal(s.function(), *again.find("sample"))) << text;
  }
}

// An expansion computes what the reference says.
TEST_P(OpCases, ExpandsToItsReference) {
  const OpDef& def = *GetParam();
  if (def.expand == nullptr || def.reference == nullptr) return;
  std::mt19937_64 generator(7);
  for (const OpCase& spec : def.cases) {
    Sample s = make_sample(def, spec, Precision::kF64);
    if (has_row_sparse(s.module)) continue;
    Module expanded;
    expanded.functions.push_back(expand_ops(s.function(), s.module, [](const OpDef& d) {
      return d.lower == nullptr && d.expand != nullptr;
    }));
    verify(expanded, "expand");
    std::vector<Tensor> arguments = draw_arguments(s.function(), spec, generator);
    std::vector<Tensor> want = interpret(s.module, "sample", arguments);
    std::vector<Tensor> got = interpret(expanded, "sample", arguments);
    for (size_t r = 0; r < want.size(); ++r)
      for (int64_t i = 0; i < want[r].numel(); ++i) {
        double w = want[r].get(i), g = got[r].get(i);
        bool same = std::abs(w - g) <= 1e-10 * (1 + std::abs(w)) || (w != w && g != g);
        ASSERT_TRUE(same) << w << " and " << g << " at " << i << " of\n" << describe(s);
      }
  }
}

bool reduced_precision(const Function& f) {
  auto narrow = [](const Value* v) {
    return v->type.dtype == DType::kBF16 || v->type.dtype == DType::kF16;
  };
  for (const auto& p : f.params)
    if (narrow(p.get())) return true;
  for (const Value* v : f.results)
    if (narrow(v)) return true;
  return false;
}

// New values of state get no cotangent; in a gradient function only the gradients do.
bool counts(const Function& f, size_t result) {
  const std::string& name = f.result_names[result];
  bool is_gradient = f.name.ends_with(".vjp");
  return is_float(f.results[result]->type.dtype) &&
         (is_gradient ? name.starts_with("grad.") : !name.starts_with("%"));
}

bool differentiable(const Function& f, int param) {
  return is_float(f.param(param)->type.dtype) &&
         f.roles[static_cast<size_t>(param)] != Role::kState;
}

// <cotangents, results> summed in double; results that are no floats or new state do not count.
double pair_up(const std::vector<Tensor>& results, const std::vector<Tensor>& cotangents) {
  double sum = 0;
  for (size_t r = 0; r < results.size(); ++r)
    for (int64_t i = 0; cotangents[r].defined() && i < results[r].numel(); ++i)
      sum += results[r].get(i) * cotangents[r].get(i);
  return sum;
}

Tensor random_like(DType dtype, const Extents& shape, std::mt19937_64& generator) {
  std::uniform_real_distribution<double> real(-1, 1);
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < t.numel(); ++i) t.set(i, real(generator));
  return t;
}

// Compares the gradients that `<f>.vjp` gives with central differences of <cotangents, f>: along a
// random direction in each float parameter, and in a few single elements.
class GradientCheck {
 public:
  GradientCheck(const Module& module, const std::string& function, std::vector<Tensor> arguments,
                std::string what)
      : module_(module),
        f_(*module.find(function)),
        arguments_(std::move(arguments)),
        what_(std::move(what)) {}

  /// Everything the caller has to differentiate is there: the module with the vjp, and arguments
  /// for it.
  const Module& vjp_module() const { return vjp_; }
  const std::vector<Tensor>& vjp_arguments() const { return vjp_arguments_; }
  std::string vjp_name() const { return f_.name + ".vjp"; }

  void run(std::mt19937_64& generator) {
    std::vector<Tensor> results = evaluate();
    std::vector<std::string> of, wrt;
    for (size_t r = 0; r < results.size(); ++r) {
      cotangents_.emplace_back();
      if (!counts(f_, r)) continue;
      cotangents_.back() = random_like(results[r].dtype(), results[r].shape(), generator);
      const std::string& name = f_.result_names[r];
      of.push_back(name.empty() ? std::to_string(r) : name);
    }
    for (int i = 0; i < f_.param_count(); ++i)
      if (differentiable(f_, i)) wrt.push_back(f_.param(i)->name);
    if (of.empty() || wrt.empty()) return;
    vjp_ = differentiate(module_, {f_.name, wrt, of});
    verify(vjp_, "differentiate");
    if (has_row_sparse(vjp_)) return;
    vjp_arguments_ = arguments_;
    for (const Tensor& t : cotangents_)
      if (t.defined()) vjp_arguments_.push_back(t);
    std::vector<Tensor> gradients = interpret(vjp_, vjp_name(), vjp_arguments_);
    for (int i = 0; i < f_.param_count(); ++i)
      if (differentiable(f_, i)) check(i, gradients, generator);
  }

 private:
  std::vector<Tensor> evaluate() const { return interpret(module_, f_.name, arguments_); }

  void check(int param, const std::vector<Tensor>& gradients, std::mt19937_64& generator) {
    const Tensor& x = arguments_[static_cast<size_t>(param)];
    if (x.numel() == 0) return;
    const Function& g = *vjp_.find(vjp_name());
    Tensor gradient(x.dtype(), x.shape());
    // The results of f come first; in second order they are called grad.<x> themselves.
    for (size_t r = f_.results.size(); r < gradients.size(); ++r)
      if (g.result_names[r] == "grad." + f_.param(param)->name) gradient = gradients[r];
    compare(param, gradient, random_like(x.dtype(), x.shape(), generator), "a direction");
    constexpr int64_t kSingles = 4, kBig = 100;
    for (int64_t n = 0; n < std::min(kSingles, x.numel()) && x.numel() <= kBig; ++n) {
      auto at = static_cast<int64_t>(generator() % static_cast<uint64_t>(x.numel()));
      Tensor direction(x.dtype(), x.shape());
      direction.set(at, 1);
      compare(param, gradient, direction, "element " + std::to_string(at));
    }
  }

  void compare(int param, const Tensor& gradient, const Tensor& direction,
               const std::string& where) {
    constexpr double kStep = 1e-6, kTolerance = 2e-6;
    double analytic = 0, scale = 1;
    for (int64_t i = 0; i < gradient.numel(); ++i) {
      analytic += gradient.get(i) * direction.get(i);
      scale += std::abs(gradient.get(i) * direction.get(i));
    }
    double numeric =
        (shifted(param, direction, kStep) - shifted(param, direction, -kStep)) / (2 * kStep);
    EXPECT_NEAR(analytic, numeric, kTolerance * scale)
        << what_ << "\nparameter %" << f_.param(param)->name << ", " << where;
  }

  double shifted(int param, const Tensor& direction, double step) {
    Tensor& x = arguments_[static_cast<size_t>(param)];
    Tensor saved = x;
    x = x.clone();
    for (int64_t i = 0; i < x.numel(); ++i) x.set(i, x.get(i) + step * direction.get(i));
    double value = pair_up(evaluate(), cotangents_);
    x = saved;
    return value;
  }

  const Module& module_;
  const Function& f_;
  std::vector<Tensor> arguments_, cotangents_, vjp_arguments_;
  std::string what_;
  Module vjp_;
};

int64_t total_elements(const std::vector<Tensor>& tensors) {
  int64_t total = 0;
  for (const Tensor& t : tensors) total += t.numel();
  return total;
}

// Second order: the gradient function is differentiated as any other. A rule may use an op that
// has no gradient; that is said by a CompileError and ends the check.
void check_second_order(GradientCheck& first, const std::string& what, std::mt19937_64& generator) {
  constexpr int64_t kSmall = 600;
  if (first.vjp_arguments().empty() || total_elements(first.vjp_arguments()) > kSmall) return;
  GradientCheck second(first.vjp_module(), first.vjp_name(), first.vjp_arguments(),
                       "second order of " + what);
  try {
    second.run(generator);
  } catch (const CompileError& e) {
    EXPECT_NE(std::string(e.what()).find("not differentiable"), std::string::npos) << e.what();
  }
}

void check_gradient(const OpDef& def, const OpCase& spec, Mode mode, std::mt19937_64& generator) {
  Sample sample = make_sample(def, spec, Precision::kF64);
  if (reduced_precision(sample.function()) || has_row_sparse(sample.module)) return;
  std::string name = in_mode(sample.module, mode);
  const Module& module = sample.module;
  const Function& f = *module.find(name);
  GradientCheck first(module, name, draw_arguments(f, spec, generator), print(f));
  first.run(generator);
  check_second_order(first, print(f), generator);
}

TEST_P(OpCases, GradientIsTheOneOfDifferences) {
  const OpDef& def = *GetParam();
  if (def.vjp == kNoGradient || def.vjp == kZeroGradient) return;
  std::mt19937_64 generator(7);
  for (const OpCase& spec : def.cases) {
    if (spec.skip_gradient) continue;
    for (Mode mode : modes_of(def)) check_gradient(def, spec, mode, generator);
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, OpCases, testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(OpTable, NamesAreUniqueAndFound) {
  for (const OpDef* def : all_ops()) EXPECT_EQ(find_op(def->name), def) << def->name;
#define OP(Name, text) EXPECT_EQ(k##Name##Op.name, text);
#include "tapeless/ops/ops.def"
#undef OP
}

}  // namespace
}  // namespace tapeless
