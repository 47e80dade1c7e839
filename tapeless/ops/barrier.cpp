// barrier: a value that simplification may not look through.
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) { return {q.operand(0)}; }

void reference(ReferenceCall& c) { c.out() = c.in(0); }

loop::Expr element(Elements& e, int, const Indices& index) { return e.operand(0, index); }

void vjp(Vjp& v) { v.give(0, v.cotangent()); }

constexpr Lowering kLowering{.element = element, .pointwise = true, .alias = true};
constexpr OpCase kCases[] = {{.operands = "f32[3, 4]"}, {.operands = "i64[0]"}};

}  // namespace

constinit const OpDef kBarrierOp{
    .name = "barrier",
    .doc =
        "x itself, but no two barriers are merged: ops behind one are computed again even where "
        "the same value is at hand. Recomputation puts it in front of what it repeats.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reference,
    .vjp = vjp,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
