// Constant folding runs the reference of an op. References compute floats in double and round once,
// so the ops listed here have the bits of compiled code; exp or a sum of floats need not.
#include "tapeless/simplify/fold.h"

#include <algorithm>
#include <string_view>

#include "tapeless/ops/checks.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/rules.h"

namespace tapeless {

namespace {

constexpr int64_t kMaxElements = 1024;
constexpr std::string_view kExactOnFloats[] = {
    "abs", "add",     "cast",  "concat",  "div",     "eq",        "ge",
    "gt",  "le",      "lt",    "maximum", "minimum", "mul",       "ne",
    "neg", "reshape", "slice", "sqrt",    "sub",     "transpose", "where"};

bool small(const Type& t) {
  Dim n = numel(t.shape);
  return t.dtype != DType::kKey && !t.row_sparse && n.is_constant() && n.constant() <= kMaxElements;
}

bool plain(DType d) { return d == DType::kF32 || d == DType::kF64 || !is_float(d); }

bool exact(const Op& op) {
  auto real = [](const Type& t) { return is_float(t.dtype); };
  bool floats =
      real(op.result_type()) || std::any_of(op.operands.begin(), op.operands.end(),
                                            [&](const Value* v) { return real(v->type); });
  return !floats || std::count(std::begin(kExactOnFloats), std::end(kExactOnFloats), op.name()) > 0;
}

}  // namespace

Value* fold_constants(Builder& b, const Op& op) {
  // A bigger tensor of one number costs nothing; its elements would.
  if (op.operands.empty() || op.results.size() != 1 || op.def().reference == nullptr ||
      op.is(kBroadcastToOp) || op.is(kBarrierOp) || !small(op.result_type()) ||
      !plain(op.result_type().dtype) || !exact(op))
    return nullptr;
  std::vector<Tensor> operands;
  for (const Value* v : op.operands) {
    const Op* constant = rules::made_by(v, kConstantOp);
    if (constant == nullptr || !plain(v->type.dtype)) return nullptr;
    operands.push_back(constant->attr<Tensor>("value"));
  }
  std::vector<Tensor> results = {
      Tensor(op.result_type().dtype, eval_shape(op.result_type().shape, {}))};
  // An index out of range is reported where it is met at run time.
  if (!checks_of(op).indices.empty()) return nullptr;
  SymbolValues none;
  ReferenceCall call(op, std::move(operands), std::move(results), none);
  op.def().reference(call);
  return b.make(kConstantOp, {}, {{"value", call.out()}});
}

}  // namespace tapeless
