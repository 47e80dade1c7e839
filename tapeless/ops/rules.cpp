// Helpers of rewrite rules.
#include "tapeless/ops/rules.h"

#include <bit>

#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"

namespace tapeless::rules {

const Op* made_by(const Value* v, const OpDef& def) {
  return v->def != nullptr && v->def->is(def) ? v->def : nullptr;
}

std::optional<double> splat(const Value* v) {
  const Op* op = v->def;
  if (op == nullptr) return std::nullopt;
  if (op->is(kBroadcastToOp) || op->is(kReshapeOp)) return splat(op->operand(0));
  if (!op->is(kConstantOp)) return std::nullopt;
  const Tensor& value = op->attr<Tensor>("value");
  if (value.numel() != 1 || value.dtype() == DType::kKey) return std::nullopt;
  return value.get(0);
}

bool is_splat(const Value* v, double number) {
  std::optional<double> found = splat(v);
  if (!found) return false;
  if (!is_float(v->type.dtype)) return *found == number;
  return std::bit_cast<int64_t>(*found) == std::bit_cast<int64_t>(number);
}

std::vector<Value*> drop_neutral(Builder& b, const Op& op, double number, int side) {
  if (!is_splat(op.operand(side), number)) return {};
  return {build::broadcast_to(b, op.operand(1 - side), op.result_type().shape)};
}

}  // namespace tapeless::rules
