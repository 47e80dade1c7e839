// maximum and minimum: the larger and the smaller of two.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

// z is x where x wins, also on a tie; the cotangent goes where the value came from.
void give_to_winner(Vjp& v, const OpDef& first_wins) {
  Value* first = v.b.make(first_wins, {v.operand(0), v.operand(1)});
  if (v.needs(0)) v.give(0, build::keep_where(v.b, first, v.cotangent()));
  if (v.needs(1)) v.give(1, build::zero_where(v.b, first, v.cotangent()));
}

}  // namespace

constinit const OpDef kMaximumOp{
    .name = "maximum",
    .doc =
        "The larger of x and y, elementwise with NumPy broadcasting; NaN if either is. On a tie "
        "the whole gradient goes to x.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_numeric,
    .reference = binary_reference<[](auto x, auto y) { return x != x || y < x ? x : y; }>,
    .vjp = [](Vjp& v) { give_to_winner(v, kGeOp); },
    .lower = &kBinaryLowering<loop::Prim::kMax>,
    .cases = kBinaryCases,
};

constinit const OpDef kMinimumOp{
    .name = "minimum",
    .doc =
        "The smaller of x and y, elementwise with NumPy broadcasting; NaN if either is. On a "
        "tie the whole gradient goes to x.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_numeric,
    .reference = binary_reference<[](auto x, auto y) { return x != x || x < y ? x : y; }>,
    .vjp = [](Vjp& v) { give_to_winner(v, kLeOp); },
    .lower = &kBinaryLowering<loop::Prim::kMin>,
    .cases = kBinaryCases,
};

}  // namespace tapeless
