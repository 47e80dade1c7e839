// Rewrites of simplify, each as the body before and after.
#include "tapeless/simplify/simplify.h"

#include <gtest/gtest.h>

#include "tapeless/ir/print.h"
#include "tapeless/ir/verify.h"
#include "tapeless/text/parse.h"

namespace tapeless {
namespace {

struct Rewrite {
  const char* signature;
  const char* before;
  const char* after;
};

std::string text(const Rewrite& r, const char* body) {
  return std::string("stage specialized\n\nfunc @f(") + r.signature + " {\n" + body + "}\n";
}

constexpr Rewrite kRewrites[] = {
    // Neutral elements, where every bit stays.
    {"%x: f32[4] input) -> f32[4]",
     "  %1 = constant {value = f32 1.0}\n  %y = mul %x, %1\n  return %y\n", "  return %x\n"},
    {"%x: f32[] input) -> f32[4]",
     "  %1 = constant {value = dense f32[1] [1.0]}\n  %2 = broadcast_to %1 {shape = [4]}\n"
     "  %y = mul %2, %x\n  return %y\n",
     "  %y = broadcast_to %x {shape = [4]}\n  return %y\n"},
    {"%x: f32[4] input) -> f32[4]",
     "  %0 = constant {value = f32 0.0}\n  %y = add %x, %0\n  return %y\n",
     "  %0 = constant {value = f32 0.0}\n  %y = add %x, %0\n  return %y\n"},
    {"%x: f32[4] input) -> f32[4]",
     "  %0 = constant {value = f32 0.0}\n  %y = sub %x, %0\n  return %y\n", "  return %x\n"},
    {"%x: f32[4] input, %y: f32[4] input) -> (f32[4], f32[4])",
     "  %n = neg %y\n  %a = add %x, %n\n  %s = sub %x, %n\n  return %a, %s\n",
     "  %a = sub %x, %y\n  %s = add %x, %y\n  return %a, %s\n"},
    {"%x: f32[4] input) -> f32[4]", "  %a = neg %x\n  %b = neg %a\n  return %b\n", "  return %x\n"},
    // Shapes.
    {"%x: f32[B, 6] input) -> f32[6*B]",
     "  %a = reshape %x {shape = [2*B, 3]}\n  %b = reshape %a {shape = [6*B]}\n  return %b\n",
     "  %b = reshape %x {shape = [6*B]}\n  return %b\n"},
    {"%x: f32[2, 3, 4] input) -> f32[4, 3, 2]",
     "  %a = transpose %x {permutation = [1, 0, 2]}\n"
     "  %b = transpose %a {permutation = [2, 0, 1]}\n  return %b\n",
     "  %b = transpose %x {permutation = [2, 1, 0]}\n  return %b\n"},
    {"%x: f32[2, 1, 4] input) -> f32[1, 2, 4]",
     "  %a = transpose %x {permutation = [1, 0, 2]}\n  return %a\n",
     "  %a = reshape %x {shape = [1, 2, 4]}\n  return %a\n"},
    {"%x: f32[] input, %z: f32[B<=9] input) -> f32[B, 3]",
     "  %a = reshape %x {shape = [1, 1]}\n  %b = broadcast_to %a {shape = [B, 3]}\n"
     "  return %b\n",
     "  %b = broadcast_to %x {shape = [B, 3]}\n  return %b\n"},
    {"%a: f32[2, 3, 4] input, %b: f32[5, 3] input) -> f32[2, 4, 5]",
     "  %0 = transpose %a {permutation = [0, 2, 1]}\n"
     "  %1 = transpose %b {permutation = [1, 0]}\n  %c = matmul %0, %1\n  return %c\n",
     "  %c = matmul %a, %b {transpose_a = true, transpose_b = true}\n  return %c\n"},
    // Casts: only what loses nothing.
    {"%x: f32[4] input) -> (f32[4], f32[4])",
     "  %a = cast %x {to = f64}\n  %b = cast %a {to = f32}\n  %c = cast %x {to = bf16}\n"
     "  %d = cast %c {to = f32}\n  return %b, %d\n",
     "  %c = cast %x {to = bf16}\n  %d = cast %c {to = f32}\n  return %x, %d\n"},
    // Choices and constants.
    {"%x: f32[4] input, %c: bool[4] input) -> (f32[4], f32[4])",
     "  %t = constant {value = bool true}\n  %n = neg %x\n  %a = where %t, %x, %n\n"
     "  %b = where %c, %x, %x\n  return %a, %b\n",
     "  return %x, %x\n"},
    {") -> f32[]",
     "  %a = constant {value = f32 0.1}\n  %b = constant {value = f32 0.2}\n"
     "  %c = add %a, %b\n  %n = numel {shape = [3, 4], dtype = f32}\n  %d = div %c, %n\n"
     "  return %d\n",
     "  %d = constant {value = f32 0.025}\n  return %d\n"},
    {") -> f32[]", "  %a = constant {value = f32 1.0}\n  %b = exp %a\n  return %b\n",
     "  %a = constant {value = f32 1.0}\n  %b = exp %a\n  return %b\n"},
    // Equal ops are one, unused ones go, barriers stay.
    {"%x: f32[4] input) -> f32[4]",
     "  %a = tanh %x\n  %b = tanh %x\n  %u = exp %x\n  %c = mul %a, %b\n  return %c\n",
     "  %a = tanh %x\n  %c = mul %a, %a\n  return %c\n"},
};

TEST(Simplify, Rewrites) {
  for (const Rewrite& r : kRewrites) {
    auto source = std::make_shared<SourceText>(SourceText{"test", text(r, r.before)});
    Module after = simplify(parse(source));
    verify(after, "simplify");
    EXPECT_EQ(print(after), text(r, r.after)) << "before:\n" << r.before;
  }
}

}  // namespace
}  // namespace tapeless
