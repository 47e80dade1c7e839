// Flops and unavoidable bytes of one training step, counted on its IR.
#include "step_bound.h"

#include "tapeless/compiler/work.h"
#include "tapeless/inline/inline_calls.h"

namespace tapeless {

namespace {

double elements(const Type& type, const SymbolValues& sizes) {
  return static_cast<double>(product(eval_shape(type.shape, sizes)));
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
