// specialize on functions made with the Builder: state, overrides, mode ops and their errors.
#include "tapeless/mode/specialize.h"

#include <gtest/gtest.h>

#include "tapeless/ir/print.h"
#include "tapeless/ir/verify.h"
#include "tapeless/ops/build.h"
#include "tapeless/ops/mode_form.h"
#include "tapeless/ops/ops.h"

namespace tapeless {
namespace {

const Type kVector(DType::kF32, {4});

// @count(%x, %n state): n becomes n + x; returns the new n.
void add_counter(Module& m) {
  Function* f = m.add("count");
  Value* x = f->add_param("x", kVector, Role::kInput);
  Value* n = f->add_param("n", kVector, Role::kState);
  Builder b(*f, &m);
  b.make_op(kSetStateOp, {n, build::add(b, n, x)});
  f->add_result(build::neg(b, n));
}

void add_caller(Module& m, Role role) {
  Function* f = m.add("f");
  Value* x = f->add_param("x", kVector, Role::kInput);
  Value* s = f->add_param("s", kVector, role);
  Builder b(*f, &m);
  build::call(b, "count", {x, s});
  f->add_result(build::call(b, "count", {x, s})[0], "y");
}

std::string error_of(const Module& m, const std::string& f, Mode mode) {
  try {
    ModeRequest request{f, mode};
    specialize(m, {&request, 1});
  } catch (const CompileError& e) {
    return e.diagnostics()[0].message;
  }
  return "";
}

TEST(Specialize, ThreadsStateThroughCalls) {
  Module m;
  add_counter(m);
  add_caller(m, Role::kState);
  ModeRequest request{"f", Mode::kTrain};
  Module s = specialize(m, {&request, 1});
  verify(s, "specialize");
  EXPECT_EQ(print(s), R"(stage specialized

func @count.train(%x: f32[4] input, %n: f32[4] state) -> (f32[4], %n: f32[4]) {
  %0 = add %n, %x
  %1 = neg %0
  return %1, %0
}

func @f.train(%x: f32[4] input, %s: f32[4] state) -> (y: f32[4], %s: f32[4]) {
  %0, %1 = call @count.train %x, %s
  %2, %3 = call @count.train %x, %1
  return %2, %3
}
)");
}

TEST(Specialize, RefusesState) {
  Module m;
  add_counter(m);
  EXPECT_EQ(error_of(m, "count", Mode::kInfer),
            "[set_state] state %n is set in infer mode, by @count");
  add_caller(m, Role::kParam);
  EXPECT_EQ(error_of(m, "f", Mode::kTrain),
            "[call] operand 1 is written: %s must be a state parameter of @f");
}

// A mode op @noisy with a train form only, and a call that overrides the mode.
TEST(Specialize, ResolvesModeOps) {
  Module m;
  Function* a = m.add("a");
  Value* x = a->add_param("x", kVector, Role::kInput);
  Builder ab(*a, &m);
  a->add_result(build::neg(ab, x));
  Function* noisy = m.add("noisy");
  noisy->add_param("x", kVector, Role::kInput);
  noisy->declared_results = {kVector};
  noisy->train_form = "a";
  Function* f = m.add("f");
  Value* y = f->add_param("y", kVector, Role::kInput);
  Builder b(*f, &m);
  Op* call = b.make_op(kCallOp, {y}, {{"callee", FunctionRef{"noisy"}}});
  f->add_result(call->result());
  EXPECT_EQ(error_of(m, "f", Mode::kTrain), "");
  EXPECT_EQ(error_of(m, "f", Mode::kInfer), "mode op @noisy has no form for mode infer");
  call->attrs["mode"] = std::string("train");
  EXPECT_EQ(error_of(m, "f", Mode::kInfer), "");
  call->attrs["mode"] = std::string("test");
  EXPECT_EQ(error_of(m, "f", Mode::kInfer), "[call] mode must be train or infer, got test");
}

// An op of the library's that only exists in training.
TEST(Specialize, NamesAnOpWithoutAForm) {
  static constinit const OpDef kTrainOnly{
      .name = "train_only",
      .min_operands = 1,
      .max_operands = 1,
      .train = [](ModeForm& form) { form.result(0, form.operand(0)); },
      .result_type = [](const TypeQuery& q) { return std::vector<Type>{q.operand(0)}; }};
  Module m;
  Function* f = m.add("f");
  Value* x = f->add_param("x", kVector, Role::kInput);
  Builder b(*f, &m);
  f->add_result(b.make(kTrainOnly, {x}));
  EXPECT_EQ(error_of(m, "f", Mode::kTrain), "");
  EXPECT_EQ(error_of(m, "f", Mode::kInfer), "[train_only] has no form for mode infer");
}

}  // namespace
}  // namespace tapeless
