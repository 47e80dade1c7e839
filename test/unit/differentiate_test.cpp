// differentiate and inline_calls on functions made with the Builder.
#include "tapeless/autodiff/differentiate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tapeless/inline/inline_calls.h"
#include "tapeless/ir/print.h"
#include "tapeless/ir/verify.h"
#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"

namespace tapeless {
namespace {

Module specialized() {
  Module m;
  m.stage = Stage::kSpecialized;
  return m;
}

int64_t count(const Function& f, const OpDef& def) {
  return std::count_if(f.body.begin(), f.body.end(), [&](const auto& op) { return op->is(def); });
}

// y = k times the same h = tanh(x w), summed: forward one matmul.
void add_layer(Module& m, int k) {
  Function* f = m.add("f");
  Dim batch = Dim::symbol("B");
  Value* x = f->add_param("x", Type(DType::kF32, {batch, 4}), Role::kInput);
  Value* w = f->add_param("w", Type(DType::kF32, {4, 3}), Role::kParam);
  Builder b(*f, &m);
  Value* h = Builder::named(build::tanh(b, build::matmul(b, x, w)), "h");
  Value* y = h;
  for (int i = 1; i < k; ++i) y = build::add(b, y, h);
  f->add_result(build::sum(b, y, {0, 1}), "loss");
}

TEST(Differentiate, PrintsJointFunction) {
  Module m = specialized();
  add_layer(m, 1);
  Module d = differentiate(m, {.function = "f"});
  verify(d, "differentiate");
  std::string text = print(*d.find("f.vjp"));
  EXPECT_EQ(text.substr(0, text.find(" {\n")),
            "func @f.vjp(%x: f32[B, 4] input, %w: f32[4, 3] param, %d.loss: f32[] input) -> "
            "(loss: f32[], grad.w: f32[4, 3])");
  EXPECT_NE(text.find("%d.w = matmul %x, "), std::string::npos) << text;
}

// Conformance 27.
TEST(Differentiate, BackwardHasTwiceTheMatmulsWhateverTheUses) {
  for (int k : {1, 2, 5}) {
    Module m = specialized();
    add_layer(m, k);
    Module d = differentiate(m, {.function = "f", .wrt = {"x", "w"}});
    EXPECT_EQ(count(*d.find("f.vjp"), kMatmulOp), 3);
  }
}

TEST(Differentiate, CallsAreDifferentiatedAsCalls) {
  Module m = specialized();
  add_layer(m, 1);
  Function* g = m.add("g");
  Value* x = g->add_param("x", Type(DType::kF32, {8, 4}), Role::kInput);
  Value* w = g->add_param("w", Type(DType::kF32, {4, 3}), Role::kParam);
  Builder b(*g, &m);
  Value* once = build::call(b, "f", {x, w})[0];
  Value* twice = build::call(b, "f", {x, w})[0];
  g->add_result(build::mul(b, once, twice));
  Module d = differentiate(m, {.function = "g"});
  verify(d, "differentiate");
  EXPECT_EQ(d.functions.size(), 4u) << "one pullback for both calls\n" << print(d);
  EXPECT_EQ(count(*d.find("g.vjp"), kCallOp), 4);
  Module flat = inline_calls(d);
  verify(flat, "inline_calls");
  EXPECT_EQ(count(*flat.find("g.vjp"), kCallOp), 0);
  std::vector<std::string> entries = {"g.vjp"};
  EXPECT_EQ(keep_reachable(flat, entries).functions.size(), 1u);
}

TEST(Differentiate, TwiceGivesSecondDerivatives) {
  Module m = specialized();
  add_layer(m, 1);
  Module d = differentiate(m, {.function = "f", .wrt = {"x"}});
  Module dd = differentiate(d, {.function = "f.vjp", .wrt = {"x"}, .of = {"grad.x"}});
  verify(dd, "differentiate");
  EXPECT_EQ(dd.find("f.vjp.vjp")->result_names.back(), "grad.x");
}

TEST(Differentiate, WithoutPathThereIsNoGradient) {
  Module m = specialized();
  add_layer(m, 1);
  m.find("f")->add_param("unused", Type(DType::kF32, {}), Role::kParam);
  Module d = differentiate(m, {.function = "f"});
  EXPECT_EQ(d.find("f.vjp")->result_names, (std::vector<std::string>{"loss", "grad.w"}));
}

// Conformance 42: an op with no rule, one that refuses; both are named.
TEST(Differentiate, NamesAllOpsWithoutAGradient) {
  auto same = [](const TypeQuery& q) { return std::vector<Type>{q.operand(0)}; };
  static constinit const OpDef kSilent{
      .name = "silent", .min_operands = 1, .max_operands = 1, .result_type = same};
  static constinit const OpDef kRefuses{.name = "refuses",
                                        .min_operands = 1,
                                        .max_operands = 1,
                                        .result_type = same,
                                        .vjp = kNoGradient};
  Module m = specialized();
  Function* f = m.add("f");
  Value* x = f->add_param("x", Type(DType::kF32, {3}), Role::kParam);
  Builder b(*f, &m);
  f->add_result(b.make(kSilent, {b.make(kRefuses, {x})}));
  try {
    differentiate(m, {.function = "f"});
    FAIL();
  } catch (const CompileError& e) {
    ASSERT_EQ(e.diagnostics().size(), 2u);
    EXPECT_EQ(e.diagnostics()[0].message, "[silent] is not differentiable");
    EXPECT_EQ(e.diagnostics()[1].message, "[refuses] is not differentiable");
  }
}

}  // namespace
}  // namespace tapeless
