#pragma once

#include <type_traits>

#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

// What elementwise ops share: a reference from a scalar function, and a lowering from a loop
// primitive. References compute floats in double and round once, integers in i64.
namespace tapeless {

/// F: double -> double (floats) and, where integers are allowed, i64 -> i64.
template <auto F>
void unary_reference(ReferenceCall& c) {
  for (int64_t i = 0, n = c.out().numel(); i < n; ++i) {
    if constexpr (std::is_invocable_v<decltype(F), int64_t>) {
      if (!is_float(c.in(0).dtype())) {
        c.out().set_int(i, static_cast<int64_t>(F(c.in(0).get_int(i))));
        continue;
      }
    }
    c.out().set(i, static_cast<double>(F(c.in(0).get(i))));
  }
}

/// F: (double, double) -> double or bool, and the same over i64; operands are broadcast.
template <auto F>
void binary_reference(ReferenceCall& c) {
  int64_t i = 0;
  for_each_index(c.out().shape(), [&](const Extents& index) {
    int64_t a = broadcast_flat(index, c.in(0).shape()), b = broadcast_flat(index, c.in(1).shape());
    if (is_float(c.in(0).dtype()))
      c.out().set(i++, static_cast<double>(F(c.in(0).get(a), c.in(1).get(b))));
    else
      c.out().set_int(i++, static_cast<int64_t>(F(c.in(0).get_int(a), c.in(1).get_int(b))));
  });
}

template <loop::Prim P>
loop::Expr unary_element(Elements& e, int, const Indices& index) {
  return loop::prim(P, {e.operand(0, index)});
}

template <loop::Prim P>
loop::Expr binary_element(Elements& e, int, const Indices& index) {
  return loop::prim(P, {e.broadcast_operand(0, index), e.broadcast_operand(1, index)});
}

template <loop::Prim P>
inline constexpr Lowering kUnaryLowering{.element = unary_element<P>, .pointwise = true};
template <loop::Prim P>
inline constexpr Lowering kBinaryLowering{.element = binary_element<P>, .pointwise = true};

/// Samples of two operands with every kind of broadcasting, odd and empty sizes.
inline constexpr OpCase kBinaryCases[] = {
    {.operands = "f32[3, 4], f32[3, 4]"}, {.operands = "f32[2, 1, 4, 17], f32[2, 1, 4, 1]"},
    {.operands = "f32[], f32[7]"},        {.operands = "f32[1, 3], f32[2, 3]"},
    {.operands = "f32[0, 4], f32[4]"},    {.operands = "f32[4097], f32[4097]"},
    {.operands = "f64[5], f64[5]"}};
inline constexpr OpCase kUnaryCases[] = {{.operands = "f32[3, 4]"}, {.operands = "f32[]"},
                                         {.operands = "f32[0, 4]"}, {.operands = "f32[1]"},
                                         {.operands = "f32[17]"},   {.operands = "f32[4097]"},
                                         {.operands = "f64[7]"}};
/// The same away from zero: for ops that are singular or have a kink there.
inline constexpr OpCase kPositiveBinaryCases[] = {
    {.operands = "f32[3, 4], f32[3, 4]", .low = 0.5},
    {.operands = "f32[2, 1, 4, 17], f32[2, 1, 4, 1]", .low = 0.5},
    {.operands = "f32[], f32[7]", .low = 0.5},
    {.operands = "f32[1, 3], f32[2, 3]", .low = 0.5},
    {.operands = "f32[0, 4], f32[4]", .low = 0.5},
    {.operands = "f32[4097], f32[4097]", .low = 0.5},
    {.operands = "f64[5], f64[5]", .low = 0.5}};
inline constexpr OpCase kPositiveUnaryCases[] = {
    {.operands = "f32[3, 4]", .low = 0.25}, {.operands = "f32[]", .low = 0.25},
    {.operands = "f32[0, 4]", .low = 0.25}, {.operands = "f32[1]", .low = 0.25},
    {.operands = "f32[17]", .low = 0.25},   {.operands = "f32[4097]", .low = 0.25},
    {.operands = "f64[7]", .low = 0.25}};

}  // namespace tapeless
