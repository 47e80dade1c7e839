// Calls: what a mistake in a binding says, and that it leaves every parameter as it was.
#include <gtest/gtest.h>

#include "tapeless/compiler/executable.h"
#include "tapeless/support/diagnostics.h"
#include "tapeless/text/parse.h"

namespace tapeless {
namespace {

constexpr const char* kProgram = R"(stage specialized
func @step(%w: f32[N, 2] param, %rows: f32[T, 2], %ids: i64[T]) -> (%w: f32[N, 2]) {
  %v = scatter_add %w, %ids, %rows
  return %v
}
func @computed(%w: f32[3] param, %n: i64[T], %x: f32[T]) -> (%w: f32[3]) {
  %ids = add %n, %n
  %old = gather %w, %ids
  %new = add %old, %x
  %v = scatter_add %w, %ids, %new
  return %v
}
func @offsets(%at: i64[B + 1]) -> i64[B] {
  %y = slice %at {starts = [1], limits = [B + 1]}
  return %y
}
func @rest(%x: f32[B<=8]) -> f32[8 - B] {
  %z = constant {value = f32 2.0}
  %a = broadcast_to %z {shape = [8 - B]}
  %s = sum %x {axes = [0]}
  %y = add %a, %s
  return %y
}
)";

class CallTest : public testing::Test {
 protected:
  static std::shared_ptr<const Executable> program() {
    auto source = std::make_shared<SourceText>(SourceText{"call.tir", kProgram});
    return compile(parse(source), {});
  }
  static Tensor ints(std::vector<int64_t> v) {
    Tensor t(DType::kI64, {static_cast<int64_t>(v.size())});
    for (size_t i = 0; i < v.size(); ++i) t.set_int(static_cast<int64_t>(i), v[i]);
    return t;
  }
  static Tensor ones(Extents shape) {
    Tensor t(DType::kF32, std::move(shape));
    for (int64_t i = 0; i < t.numel(); ++i) t.set(i, 1);
    return t;
  }
  static std::string error_of(Call& call) {
    try {
      call.run();
    } catch (const DataError& e) {
      return e.what();
    }
    return "no error";
  }
  static bool says(Call& call, const std::string& part) {
    std::string error = error_of(call);
    bool found = error.find(part) != std::string::npos;
    EXPECT_TRUE(found) << error;
    return found;
  }
};

TEST_F(CallTest, ABadIndexChangesNothing) {
  Call call = program()->call("step");
  Tensor w = ones({3, 2});
  Tensor before = w.clone();
  call.bind("w", w);
  call.bind("rows", ones({2, 2}));
  call.bind("ids", ints({1, 3}));
  EXPECT_TRUE(says(call,
                   "call.tir:3:8: [scatter_add] index 3 at position 1 of %ids is outside of "
                   "[0, 3) (in a run of @step)"));
  EXPECT_TRUE(same_bits(w, before));
  call.bind("ids", ints({1, 2}));
  call.run();
  EXPECT_EQ(w.get(2), 2);
}

TEST_F(CallTest, ABadComputedIndexChangesNothing) {
  Call call = program()->call("computed");
  Tensor w = ones({3});
  Tensor before = w.clone();
  call.bind("w", w);
  call.bind("n", ints({0, 2}));
  call.bind("x", ones({2}));
  EXPECT_TRUE(says(call, "index 4 at position 1 of %ids is outside of [0, 3)"));
  EXPECT_TRUE(same_bits(w, before));
  call.bind("n", ints({0, 1}));
  call.run();
  EXPECT_EQ(w.get(2), 3);
}

TEST_F(CallTest, WhatIsUpdatedSharesNoMemory) {
  Call call = program()->call("step");
  Tensor w = ones({3, 2});
  call.bind("w", w);
  call.bind("rows", Tensor::view(DType::kF32, {2, 2}, {2, 1}, w.data<float>() + 2));
  call.bind("ids", ints({1, 2}));
  EXPECT_TRUE(says(call, "%w is updated in place and may not share memory with %rows"));
  EXPECT_EQ(w.get(3), 1);
  call.bind("rows", ones({2, 2}));
  EXPECT_EQ(error_of(call), "no error");
  // Looked for again when memory moves, and only the order of binding differs.
  Tensor rows = ones({3, 2});
  call.bind("rows", Tensor::view(DType::kF32, {2, 2}, {2, 1}, rows.data<float>() + 2));
  EXPECT_EQ(error_of(call), "no error");
  call.bind("w", rows);
  EXPECT_TRUE(says(call, "may not share memory"));
  // Memory that only touches is another's.
  Tensor both = ones({5, 2});
  call.bind("w", Tensor::view(DType::kF32, {3, 2}, {2, 1}, both.raw()));
  call.bind("rows", Tensor::view(DType::kF32, {2, 2}, {2, 1}, both.data<float>() + 6));
  EXPECT_EQ(error_of(call), "no error");
}

TEST_F(CallTest, SizesAreSolvedFor) {
  Call call = program()->call("offsets");
  call.bind("at", ints({0, 3, 7}));
  call.run();
  EXPECT_TRUE(same_bits(call.result(0), ints({3, 7})));
}

TEST_F(CallTest, MistakesInUse) {
  auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const DataError& e) {
      return e.what();
    }
    return "no error";
  };
  auto executable = program();
  EXPECT_EQ(message([&] { executable->call("stap"); }),
            "no entry point @stap, did you mean @step?");
  // Those that compute checks are nobody's business.
  EXPECT_EQ(executable->entries(),
            (std::vector<std::string>{"step", "computed", "offsets", "rest"}));
  Call call = executable->call("step");
  EXPECT_EQ(message([&] { call.bind("v", ones({3, 2})); }), "@step has no parameter %v");
  EXPECT_EQ(message([&] { call.run(); }), "@step: %w is missing, expected f32[N, 2]");
  Tensor wide = ones({3, 4});
  EXPECT_EQ(message([&] { call.bind("w", Tensor::view(DType::kF32, {3, 2}, {4, 1}, wide.raw())); }),
            "@step: %w is updated in place and must be dense");
  EXPECT_EQ(message([] { compile({}, {.threads = 0}); }), "threads must be 1 or more, got 0");
}

// A result may grow while a symbol falls.
TEST_F(CallTest, StoragesThatGrowAsASymbolFalls) {
  Call call = program()->call("rest");
  for (int64_t rows : {8, 7, 1}) {
    call.bind("x", ones({rows}));
    call.run();
    ASSERT_EQ(call.result(0).numel(), 8 - rows);
    for (int64_t i = 0; i < 8 - rows; ++i)
      EXPECT_EQ(call.result(0).get(i), 2 + static_cast<double>(rows));
  }
}

}  // namespace
}  // namespace tapeless
