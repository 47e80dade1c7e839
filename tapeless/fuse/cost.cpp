// The cost of recomputing an element, read off the op's own lowering: its expression is built over
// stand-ins for operands and its primitives are counted once each.
#include "tapeless/fuse/cost.h"

#include <unordered_set>

#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"

namespace tapeless::fusion {

namespace {

using loop::Expr;
using loop::Prim;

class StandIns : public Elements {
 public:
  using Elements::Elements;
  Expr operand(int i, const Indices&, Expr) override {
    return loop::var("operand", scalar_type(op.operand_type(i).dtype));
  }
  Expr operand_flat(int i, Expr) override { return operand(i, {}, {}); }
  Expr size(const Dim&) override { return loop::var("size"); }
};

int prim_cost(const loop::ExprNode& node) {
  if (node.kind != loop::ExprKind::kPrim) return 0;
  if (!loop::is_float(node.type.elem)) return 1;
  if (node.op >= Prim::kExp) return node.op == Prim::kRsqrt ? 4 : 16;
  return node.op == Prim::kDiv || node.op == Prim::kSqrt ? 4 : 1;
}

int count(const Expr& e, std::unordered_set<const loop::ExprNode*>& seen) {
  if (!seen.insert(e.get()).second) return 0;
  int cost = prim_cost(*e);
  for (const Expr& arg : e->args) cost += count(arg, seen);
  return cost;
}

}  // namespace

int element_cost(const Op& op) {
  TL_CHECK(op.def().lower != nullptr && op.def().lower->element != nullptr, "op {}", op.name());
  StandIns elements(op);
  Indices index;
  for (int i = 0; i < op.result_type().rank(); ++i) index.push_back(loop::var("i"));
  std::unordered_set<const loop::ExprNode*> seen;
  return count(op.def().lower->element(elements, 0, index), seen);
}

}  // namespace tapeless::fusion
