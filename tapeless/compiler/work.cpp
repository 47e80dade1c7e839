// Arithmetic and traffic, counted on the IR.
#include "tapeless/compiler/work.h"

#include "tapeless/fuse/cost.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

double elements(const Type& type, const SymbolValues& sizes) {
  return static_cast<double>(product(eval_shape(type.shape, sizes)));
}

double bytes(const Type& type, const SymbolValues& sizes) {
  return elements(type, sizes) * static_cast<double>(dtype_size(type.dtype));
}

double op_flops(const Op& op, const SymbolValues& sizes) {
  const Lowering* lower = op.def().lower;
  if (op.is(kConstantOp) || lower == nullptr) return 0;
  if (lower->element != nullptr)
    return fusion::element_cost(op) * elements(op.result_type(), sizes);
  if (double flops = contraction_flops(op, sizes); flops > 0) return flops;
  return op.operands.empty() ? 0 : elements(op.operand_type(0), sizes);
}

}  // namespace

double contraction_flops(const Op& op, const SymbolValues& sizes) {
  if (op.is(kMatmulOp)) {
    const Type& a = op.operand_type(0);
    bool transposed = op.flag("transpose_a");
    Dim k = a.shape[a.shape.size() - (transposed ? 2 : 1)];
    return 2 * elements(op.result_type(), sizes) * static_cast<double>(k.eval(sizes));
  }
  // All three directions pair every element of y with every tap of the kernel.
  auto taps = [&](const Type& w) {
    return elements(w, sizes) / static_cast<double>(w.shape[0].eval(sizes));
  };
  if (op.is(kConv2dOp)) return 2 * elements(op.result_type(), sizes) * taps(op.operand_type(1));
  if (op.is(kConv2dInputGradOp))
    return 2 * elements(op.operand_type(0), sizes) * taps(op.operand_type(1));
  if (op.is(kConv2dWeightGradOp))
    return 2 * elements(op.operand_type(1), sizes) * taps(op.result_type());
  return 0;
}

Work region_work(const Function& region, const SymbolValues& sizes) {
  Work work;
  for (const auto& op : region.body) work.flops += op_flops(*op, sizes);
  for (const auto& p : region.params) work.bytes += bytes(p->type, sizes);
  for (const Value* r : region.results) work.bytes += bytes(r->type, sizes);
  return work;
}

}  // namespace tapeless
