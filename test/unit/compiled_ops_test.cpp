// Compiled code against the interpreter: every case of every op and its gradient, on every
// instruction-set class that this CPU runs; and the same bits from three threads and without
// fusion.
#include <gtest/gtest.h>

#include <cmath>

#include "op_cases.h"
#include "tapeless/autodiff/differentiate.h"
#include "tapeless/codegen/target.h"
#include "tapeless/compiler/executable.h"
#include "tapeless/interp/interpret.h"
#include "tapeless/ir/print.h"
#include "tapeless/ops/ops.h"

namespace tapeless {
namespace {

struct Param {
  const OpDef* def;
  std::string cpu;
  bool unfused;  // compare with one kernel an op too
};

void PrintTo(const Param& p, std::ostream* out) { *out << p.def->name << " on " << p.cpu; }

class CompiledOps : public testing::TestWithParam<Param> {};

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-12;
    case DType::kBF16:
      return 8e-3;
    case DType::kF16:
      return 1e-3;
    default:
      return 2e-5;
  }
}

// Sums of products lose a little of their largest term: the error is measured against the tensor.
void expect_close(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.type_str(), want.type_str()) << what;
  double scale = 1;
  for (int64_t i = 0; i < want.numel(); ++i)
    if (std::isfinite(want.get(i))) scale = std::max(scale, std::fabs(want.get(i)));
  for (int64_t i = 0; i < want.numel(); ++i) {
    if (!is_float(want.dtype())) {
      ASSERT_EQ(got.get_int(i), want.get_int(i)) << what << " element " << i;
      continue;
    }
    double x = got.get(i), y = want.get(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_LE(std::fabs(x - y), tolerance(want.dtype()) * scale)
        << what << " element " << i << ": " << x << " and " << y;
  }
}

// All cases of an op in one module, as @case_0, @case_0.vjp, @case_1, ...: one compile.
class Cases {
 public:
  explicit Cases(const OpDef& def) : def_(def) {
    module.stage = std::max(Stage::kSpecialized, def.legal_from);
    for (const OpCase& spec : def.cases)
      for (Mode mode : modes_of(def)) {
        add(spec, mode, Precision::kAsWritten);
        add(spec, mode, Precision::kF64);
      }
  }

  struct Entry {
    std::string name;
    const OpCase* spec;
  };
  Module module;
  std::vector<Entry> entries;

 private:
  void add(const OpCase& spec, Mode mode, Precision precision) {
    Sample sample = make_sample(def_, spec, precision);
    std::string from = in_mode(sample.module, mode);
    std::string to = "case_" + std::to_string(entries.size());
    if (precision == Precision::kAsWritten) add_gradient(sample.module, from);
    for (auto& f : sample.module.functions) {
      f->name = f->name == from ? to : to + ".vjp";
      entries.push_back({f->name, &spec});
      module.functions.push_back(std::move(f));
    }
  }

  // Adds `<name>.vjp` where there is something to differentiate.
  void add_gradient(Module& m, const std::string& name) const {
    if (def_.vjp == kNoGradient || def_.vjp == kZeroGradient || has_row_sparse(m)) return;
    const Function& f = *m.find(name);
    GradientRequest request{name, {}, {}};
    for (int i = 0; i < f.param_count(); ++i)
      if (is_float(f.param(i)->type.dtype) && f.roles[static_cast<size_t>(i)] != Role::kState)
        request.wrt.push_back(f.param(i)->name);
    bool any = false;
    for (size_t i = 0; i < f.results.size(); ++i)
      any |= is_float(f.results[i]->type.dtype) && !f.result_names[i].starts_with("%");
    if (!any || request.wrt.empty()) return;
    Module gradient = differentiate(m, request);
    if (!has_row_sparse(gradient)) m = std::move(gradient);
  }

  const OpDef& def_;
};

void expect_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& other,
                      const std::string& what) {
  ASSERT_EQ(got.size(), other.size());
  for (size_t r = 0; r < got.size(); ++r)
    EXPECT_TRUE(same_bits(got[r], other[r])) << "result " << r << " has other bits " << what;
}

TEST_P(CompiledOps, EqualTheInterpreter) {
  const OpDef& def = *GetParam().def;
  if (def.cases.empty()) GTEST_SKIP() << "no cases";
  Cases cases(def);
  CompileOptions options{.cpu = GetParam().cpu, .threads = 1};
  for (const auto& e : cases.entries) options.entries.push_back(e.name);
  auto one = compile(cases.module, options);
  options.threads = 3;
  auto three = compile(cases.module, options);
  options.fuse = false;
  auto unfused = GetParam().unfused ? compile(cases.module, options) : three;
  std::mt19937_64 generator(11);
  for (const auto& [name, spec] : cases.entries) {
    const Function& f = *cases.module.find(name);
    std::vector<Tensor> arguments = draw_arguments(f, *spec, generator);
    std::vector<Tensor> want;
    try {
      want = interpret(cases.module, name, arguments);
    } catch (const DataError&) {
      continue;  // bad data is refused when it is bound
    }
    std::vector<Tensor> got = one->run(name, arguments);
    ASSERT_EQ(got.size(), want.size());
    for (size_t r = 0; r < got.size(); ++r) expect_close(got[r], want[r], print(f));
    expect_same_bits(got, three->run(name, arguments), "from three threads\n" + print(f));
    expect_same_bits(got, unfused->run(name, arguments), "without fusion\n" + print(f));
  }
}

std::vector<Param> params() {
  std::vector<Param> out;
  bool best = true;  // without fusion only on the best one, for time
  for (const char* cpu : {"avx512", "avx2", "x86-64"})
    if (make_target(cpu).host_can_run) {
      for (const OpDef* def : all_ops()) out.push_back({def, cpu, best});
      best = false;
    }
  return out;
}

INSTANTIATE_TEST_SUITE_P(AllOps, CompiledOps, testing::ValuesIn(params()), [](const auto& info) {
  std::string name = std::string(info.param.def->name) + "_" + info.param.cpu;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace tapeless
