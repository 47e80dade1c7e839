// Compiled code against the interpreter, for every case of every op on every instruction-set class
// that this CPU runs; and the same bits from any number of threads.
#include <gtest/gtest.h>

#include <cmath>

#include "op_cases.h"
#include "tapeless/codegen/target.h"
#include "tapeless/compiler/executable.h"
#include "tapeless/interp/interpret.h"
#include "tapeless/ir/clone.h"
#include "tapeless/ir/print.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/ops/ops.h"

namespace tapeless {
namespace {

struct Param {
  const OpDef* def;
  std::string cpu;
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

// All cases of an op in one module, as @case_0, @case_1, ...
struct Cases {
  Module module;
  std::vector<const OpCase*> specs;
  std::vector<std::string> names;
};

Cases collect(const OpDef& def) {
  Cases out;
  out.module.stage = std::max(Stage::kSpecialized, def.legal_from);
  for (const OpCase& spec : def.cases)
    for (Precision precision : {Precision::kAsWritten, Precision::kF64}) {
      Sample s = make_sample(def, spec, precision);
      std::vector<Module> forms;
      if (def.train != nullptr)
        forms.push_back(specialize(s.module, std::vector<ModeRequest>{{"sample", Mode::kTrain}}));
      if (def.infer != nullptr)
        forms.push_back(specialize(s.module, std::vector<ModeRequest>{{"sample", Mode::kInfer}}));
      if (!def.differs_by_mode()) forms.push_back(clone(s.module));
      for (Module& form : forms) {
        TL_CHECK(form.functions.size() == 1);
        std::string name = "case_" + std::to_string(out.names.size());
        form.functions[0]->name = name;
        out.module.functions.push_back(std::move(form.functions[0]));
        out.names.push_back(name);
        out.specs.push_back(&spec);
      }
    }
  return out;
}

TEST_P(CompiledOps, EqualTheInterpreter) {
  const OpDef& def = *GetParam().def;
  if (def.cases.empty()) GTEST_SKIP() << "no cases";
  Cases cases = collect(def);
  CompileOptions options{.cpu = GetParam().cpu, .threads = 1, .disk_cache = false};
  auto one = compile(cases.module, options);
  options.threads = 3;
  auto three = compile(cases.module, options);
  std::mt19937_64 generator(11);
  for (size_t i = 0; i < cases.names.size(); ++i) {
    const Function& f = *cases.module.find(cases.names[i]);
    std::vector<Tensor> arguments = draw_arguments(f, *cases.specs[i], generator);
    std::vector<Tensor> want;
    try {
      want = interpret(cases.module, f.name, arguments);
    } catch (const DataError&) {
      continue;  // bad data is refused when it is bound
    }
    std::vector<Tensor> got = one->run(f.name, arguments), again = three->run(f.name, arguments);
    ASSERT_EQ(got.size(), want.size());
    for (size_t r = 0; r < got.size(); ++r) {
      expect_close(got[r], want[r], print(f));
      EXPECT_TRUE(same_bits(got[r], again[r])) << "other bits from three threads\n" << print(f);
    }
  }
}

std::vector<Param> params() {
  std::vector<Param> out;
  for (const char* cpu : {"avx512", "avx2", "x86-64"})
    if (make_target(cpu).host_can_run)
      for (const OpDef* def : all_ops()) out.push_back({def, cpu});
  return out;
}

INSTANTIATE_TEST_SUITE_P(AllOps, CompiledOps, testing::ValuesIn(params()), [](const auto& info) {
  std::string name = std::string(info.param.def->name) + "_" + info.param.cpu;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace tapeless
