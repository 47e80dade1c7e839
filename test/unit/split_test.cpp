// split: forward and backward give the bits of the joint function; the list of what is saved.
#include "tapeless/autodiff/split.h"

#include <gtest/gtest.h>

#include "tapeless/autodiff/differentiate.h"
#include "tapeless/interp/interpret.h"
#include "tapeless/ir/verify.h"
#include "tapeless/support/min_cut.h"
#include "tapeless/text/parse.h"

namespace tapeless {
namespace {

constexpr char kNet[] = R"(stage specialized

func @f(%x: f32[B<=64, 4] input, %w: f32[4, 6] param, %v: f32[6, 3] param, %key: key key) -> (loss: f32[], y: f32[B, 3]) {
  %p = matmul %x, %w
  %h = tanh %p
  %u = random_uniform %key {shape = [B, 6]}
  %keep = lt %u, 0.5
  %d = where %keep, %h, 0.0
  %q = matmul %d, %v
  %y = relu %q
  %e = exp %y
  %loss = sum %e
  return %loss, %y
}
)";

Module split_net() {
  Module m = parse(std::make_shared<SourceText>(SourceText{"net", kNet}));
  return split(differentiate(m, {.function = "f"}), {.function = "f"});
}

// Tensors by name, as a caller of the two parts keeps them.
using Named = std::map<std::string, Tensor>;

Tensor drawn(const Type& type, int64_t batch) {
  SymbolValues sizes{{"B", batch}};
  Tensor t(type.dtype, eval_shape(type.shape, sizes));
  for (int64_t i = 0; i < t.numel(); ++i)
    type.dtype == DType::kKey ? t.set_int(i, 77)
                              : t.set(i, 0.25 * static_cast<double>(i * 7 % 11) - 1);
  return t;
}

void call(const Module& m, const std::string& name, Named& tensors) {
  const Function& f = *m.get(name);
  std::vector<Tensor> args;
  for (const auto& p : f.params) args.push_back(tensors.at(p->name));
  std::vector<Tensor> results = interpret(m, name, args);
  for (size_t i = 0; i < results.size(); ++i) tensors[f.result_names[i]] = results[i];
}

TEST(Split, GivesTheBitsOfTheJointFunction) {
  Module m = split_net();
  verify(m, "split");
  for (int64_t batch : {0, 1, 5}) {
    Named joint;
    for (const auto& p : m.get("f.vjp")->params) joint[p->name] = drawn(p->type, batch);
    Named parts = joint;
    call(m, "f.vjp", joint);
    call(m, "f.forward", parts);
    call(m, "f.backward", parts);
    for (const char* name : {"loss", "y", "grad.w", "grad.v"})
      EXPECT_TRUE(same_bits(joint.at(name), parts.at(name))) << name;
    Named again = parts;  // backward only reads: a second call gives the same
    call(m, "f.backward", again);
    EXPECT_TRUE(same_bits(again.at("grad.w"), parts.at("grad.w")));
  }
}

TEST(Split, ListsWhatIsSaved) {
  std::string text = explain_saved(list_saved(split_net(), {.function = "f", .sizes = {{"B", 8}}}));
  EXPECT_EQ(text,
            "%x                f32[B, 4]                         128 bytes  input, by reference\n"
            "%v                f32[6, 3]                          72 bytes  param, by reference\n"
            "%key              key                                 8 bytes  key, by reference\n"
            "%saved.0          f32[B, 6]                         192 bytes  result of tanh, %h\n"
            "%saved.1          f32[B, 3]                          96 bytes  result of relu, also a "
            "result, %y\n"
            "288 bytes saved\n");
}

TEST(MinCut, PrefersTheCheapestThenTheNearestToTheSink) {
  MinCut cut;
  int a = cut.add_node(), b = cut.add_node();
  cut.add_edge(MinCut::kSource, a, 5);
  cut.add_edge(a, b, 3);
  cut.add_edge(b, MinCut::kSink, 3);
  EXPECT_EQ(cut.solve(), 3);
  EXPECT_FALSE(cut.on_sink_side(a));
  EXPECT_FALSE(cut.on_sink_side(b));

  MinCut open;
  open.add_edge(MinCut::kSource, MinCut::kSink, MinCut::kInfinite);
  EXPECT_GE(open.solve(), MinCut::kInfinite);
}

}  // namespace
}  // namespace tapeless
