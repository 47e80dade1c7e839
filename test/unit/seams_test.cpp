// What later issues build on, where one call of one function cannot say it: saved blocks, plans
// that grow, and tensors that are not dense.
#include <gtest/gtest.h>

#include <cmath>

#include "tapeless/autodiff/differentiate.h"
#include "tapeless/autodiff/split.h"
#include "tapeless/compiler/executable.h"
#include "tapeless/interp/interpret.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/support/diagnostics.h"
#include "tapeless/text/parse.h"

namespace tapeless {
namespace {

constexpr const char* kBlock = R"(
func @f(%x: f32[B<=64, 5] input, %w: f32[5, 7] param, %v: f32[7, 3] param) -> (y: f32[B, 3]) {
  %a = matmul %x, %w
  %b = gelu %a
  %c = dropout %b {rate = 0.25}
  %d = matmul %c, %v
  return softmax %d
})";

Module parse_text(const std::string& text) {
  return parse(std::make_shared<SourceText>(SourceText{"test.tir", text}));
}

// `f.train`, its vjp, and both halves.
Module split_block() {
  std::vector<ModeRequest> requests = {{"f", Mode::kTrain}};
  Module m = specialize(parse_text(kBlock), requests);
  return split(differentiate(m, {"f.train", {"x", "w", "v"}, {}}), {"f.train"});
}

Tensor draw(Extents shape, int seed) {
  Tensor t(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i) t.set(i, std::sin(static_cast<double>(i * 7 + seed)));
  return t;
}

Tensor key(int64_t bits) {
  Tensor t(DType::kKey, {});
  t.set_int(0, bits);
  return t;
}

using Named = std::map<std::string, Tensor>;

// Binds by name what the entry takes, runs, and gives copies of the results by name.
Named run(Call& call, const Executable& executable, const std::string& entry,
          const Named& tensors) {
  for (const Slot& slot : executable.params(entry)) {
    EXPECT_EQ(tensors.count(slot.name), 1u) << slot.name;
    call.bind(slot.name, tensors.at(slot.name));
  }
  call.run();
  Named out;
  for (const Slot& slot : executable.results(entry))
    out.emplace(slot.name, call.result(slot.name).clone());
  return out;
}

Named interpreted(const Module& module, const std::string& entry, const Named& tensors) {
  const Function& f = *module.get(entry);
  std::vector<Tensor> arguments;
  for (const auto& p : f.params) arguments.push_back(tensors.at(p->name));
  std::vector<Tensor> results = interpret(module, entry, arguments);
  Named out;
  for (size_t i = 0; i < results.size(); ++i) out.emplace(f.result_names[i], results[i]);
  return out;
}

void expect_close(const Named& got, const Named& want) {
  for (const auto& [name, tensor] : want) {
    ASSERT_EQ(got.at(name).type_str(), tensor.type_str()) << name;
    for (int64_t i = 0; i < tensor.numel(); ++i)
      EXPECT_NEAR(got.at(name).get(i), tensor.get(i), 2e-5) << name << " " << i;
  }
}

void expect_same(const Named& a, const Named& b) {
  for (const auto& [name, tensor] : a) EXPECT_TRUE(same_bits(tensor, b.at(name))) << name;
}

Named inputs(int64_t rows, int seed) {
  return {{"x", draw({rows, 5}, seed)},
          {"w", draw({5, 7}, 1)},
          {"v", draw({7, 3}, 2)},
          {"key", key(seed)},
          {"d.y", draw({rows, 3}, seed + 1)}};
}

Named joined(Named a, const Named& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// Two forwards, then two backwards in either order, one of them twice.
TEST(Seams, TwoForwardsThenTwoBackwards) {
  Module m = split_block();
  auto executable = compile(m, {.entries = {"f.train.forward", "f.train.backward", "f.train.vjp"}});
  Call forward = executable->call("f.train.forward"),
       backward = executable->call("f.train.backward");
  Call whole = executable->call("f.train.vjp");
  Named one = inputs(6, 3), two = inputs(4, 8);
  Named saved_one = joined(one, run(forward, *executable, "f.train.forward", one));
  Named saved_two = joined(two, run(forward, *executable, "f.train.forward", two));
  Named second = run(backward, *executable, "f.train.backward", saved_two);
  Named first = run(backward, *executable, "f.train.backward", saved_one);
  Named again = run(backward, *executable, "f.train.backward", saved_one);
  expect_same(first, again);
  expect_same(first, run(whole, *executable, "f.train.vjp", one));
  expect_same(second, run(whole, *executable, "f.train.vjp", two));
  expect_close(first, interpreted(m, "f.train.backward", saved_one));
}

// Sizes that grow past the first plan, and shrink again: no compile, the bits of a fresh call.
TEST(Seams, PlansGrow) {
  Module m = split_block();
  auto executable = compile(m, {.threads = 2, .entries = {"f.train.vjp"}});
  Call call = executable->call("f.train.vjp");
  int64_t bytes = 0;
  for (int64_t rows : {1, 17, 3, 64, 0, 5}) {
    Named tensors = inputs(rows, static_cast<int>(rows) + 1);
    Named got = run(call, *executable, "f.train.vjp", tensors);
    Call fresh = executable->call("f.train.vjp");
    expect_same(got, run(fresh, *executable, "f.train.vjp", tensors));
    expect_close(got, interpreted(m, "f.train.vjp", tensors));
    EXPECT_GE(call.arena_bytes(), bytes);
    bytes = call.arena_bytes();
  }
  Named large = inputs(65, 1);
  call.bind("x", large.at("x"));
  call.bind("d.y", large.at("d.y"));
  EXPECT_THROW(call.run(), DataError);
}

// Inputs, weights and cotangents that are transposed, expanded or sliced are read right.
TEST(Seams, StridedAndExpandedInputs) {
  Module m = split_block();
  auto executable = compile(m, {.entries = {"f.train.vjp"}});
  Call call = executable->call("f.train.vjp");
  Named dense = inputs(6, 3), strided = dense;
  Tensor wide = draw({12, 11}, 4), turned = draw({7, 5}, 5), row = draw({3}, 6);
  strided["x"] = Tensor::view(DType::kF32, {6, 5}, {22, 2}, wide.raw());
  strided["w"] = Tensor::view(DType::kF32, {5, 7}, {1, 5}, turned.raw());
  strided["d.y"] = Tensor::view(DType::kF32, {6, 3}, {0, 1}, row.raw());
  for (const char* name : {"x", "w", "d.y"}) dense[name] = strided[name].dense();
  Named got = run(call, *executable, "f.train.vjp", strided);
  expect_same(got, run(call, *executable, "f.train.vjp", dense));
  expect_close(got, interpreted(m, "f.train.vjp", dense));
}

}  // namespace
}  // namespace tapeless
