// mul: the product of two tensors, element by element.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"
#include "tapeless/ops/rules.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  for (int i = 0; i < 2; ++i)
    if (q.operand(i).row_sparse && q.operand(1 - i) == Type(q.operand(i).dtype, {}))
      return {q.operand(i)};
  return infer::broadcast_numeric(q);
}

// z = x y: dx = dz y, dy = dz x
void vjp(Vjp& v) {
  if (v.needs(0)) v.give(0, build::mul(v.b, v.cotangent(), v.operand(1)));
  if (v.needs(1)) v.give(1, build::mul(v.b, v.cotangent(), v.operand(0)));
}

constexpr RewriteRule kRules[] = {rules::drop_neutral<1.0, 0>, rules::drop_neutral<1.0, 1>};

}  // namespace

constinit const OpDef kMulOp{
    .name = "mul",
    .doc =
        "x * y, elementwise with NumPy broadcasting. Operands of one numeric dtype. A "
        "row-sparse value times a scalar is row-sparse.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = result_type,
    .reference = binary_reference<[](auto x, auto y) { return x * y; }>,
    .vjp = vjp,
    .rules = kRules,
    .lower = &kBinaryLowering<loop::Prim::kMul>,
    .cases = kBinaryCases,
};

}  // namespace tapeless
