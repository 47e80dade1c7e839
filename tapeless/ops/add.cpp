// add: the sum of two tensors.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"
#include "tapeless/ops/rules.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  const Type &x = q.operand(0), &y = q.operand(1);
  if (!x.row_sparse && !y.row_sparse) return infer::broadcast_numeric(q);
  if (x.dtype != y.dtype || !(x.shape == y.shape))
    q.fail("a row-sparse value is added to one of its own type: {} and {}", x.str(), y.str());
  if (x.row_sparse && y.row_sparse) return {Type::sparse(x.dtype, x.shape, x.rows + y.rows)};
  return {Type(x.dtype, x.shape)};
}

// z = x + y: dx = dz, dy = dz
void vjp(Vjp& v) {
  v.give(0, v.cotangent());
  v.give(1, v.cotangent());
}

// x + (-y) -> x - y
template <int Side>
std::vector<Value*> subtract_negated(Builder& b, const Op& op) {
  const Op* inner = rules::made_by(op.operand(Side), kNegOp);
  if (inner == nullptr) return {};
  return {build::sub(b, op.operand(1 - Side), inner->operand(0))};
}

constexpr RewriteRule kRules[] = {rules::drop_neutral<-0.0, 0>, rules::drop_neutral<-0.0, 1>,
                                  subtract_negated<1>, subtract_negated<0>};

}  // namespace

constinit const OpDef kAddOp{
    .name = "add",
    .doc =
        "x + y, elementwise with NumPy broadcasting. Operands of one numeric dtype. Two row-sparse "
        "values of one shape give a row-sparse value with the rows of both, a dense and a "
        "row-sparse one a dense value.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = result_type,
    .reference = binary_reference<[](auto x, auto y) { return x + y; }>,
    .vjp = vjp,
    .rules = kRules,
    .lower = &kBinaryLowering<loop::Prim::kAdd>,
    .cases = kBinaryCases,
};

}  // namespace tapeless
