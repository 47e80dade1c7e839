// Flops and unavoidable bytes of one training step, counted on its IR.
#include "step_bound.h"

#include "tapeless/inline/inline_calls.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

double elements(const Type& type, const SymbolValues& sizes) {
  return static_cast<double>(product(eval_shape(type.shape, sizes)));
}

// Multiply-adds of one op, times two. Zero for what is no contraction.
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

}  // namespace

StepWork count_step_work(const Session& session, int64_t batch) {
  std::string entry = session.has("train_step") ? "train_step" : "grad_step";
  Module flat = inline_calls(keep_reachable(session.module(), {&entry, 1}));
  const Function& f = *flat.get(entry);
  std::set<std::string> symbols;
  for (const auto& p : f.params)
    for (const Dim& d : p->type.shape) d.collect_symbols(symbols);
  SymbolValues sizes;
  for (const std::string& symbol : symbols) sizes[symbol] = batch;
  StepWork work;
  for (const auto& op : f.body) work.flops += contraction_flops(*op, sizes);
  for (int i = 0; i < f.param_count(); ++i) {
    const Type& type = f.param(i)->type;
    bool written = f.roles[static_cast<size_t>(i)] != Role::kInput;
    double bytes = elements(type, sizes) * static_cast<double>(dtype_size(type.dtype));
    work.bytes += (written ? 2 : 1) * bytes;
  }
  return work;
}

}  // namespace tapeless
