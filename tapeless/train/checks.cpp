// Mistakes in sizes, found before the first step.
#include "tapeless/train/checks.h"

#include "tapeless/inline/inline_calls.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

// The symbol of the rows of a batch: the first size of the first input.
std::string batch_symbol(const Function& f) {
  for (int i = 0; i < f.param_count(); ++i)
    if (f.roles[static_cast<size_t>(i)] == Role::kInput && f.param(i)->type.rank() > 0)
      return f.param(i)->type.shape[0].as_symbol().value_or("");
  return {};
}

// Values that a channel (axis 1) of `type` has, where they depend on the batch alone.
std::optional<int64_t> values_per_channel(const Type& type, const std::string& batch,
                                          int64_t rows) {
  Dim count = 1;
  for (size_t i = 0; i < type.shape.size(); ++i)
    if (i != 1) count = count * type.shape[i];
  count = count.substitute({{batch, Dim(rows)}});
  return count.is_constant() ? std::optional(count.constant()) : std::nullopt;
}

void check_statistics(const Function& f, const std::string& symbol, int64_t rows,
                      const char* which) {
  for (const auto& op : f.body) {
    if (!op->is(kBatchNormOp) || values_per_channel(op->operand_type(0), symbol, rows) != 1)
      continue;
    data_error(
        "{}: [batch_norm] the {} batch has {} row and so one value a channel, which has no "
        "variance: choose another batch size or last_batch = \"drop\"",
        op->loc.str(), which, rows);
  }
}

}  // namespace

void check_batch_sizes(const Module& source, const std::string& loss, int64_t batch,
                       int64_t last_rows) {
  std::string entry = loss;
  Module flat = inline_calls(keep_reachable(source, {&entry, 1}));
  const Function& f = *flat.get(loss);
  std::string symbol = batch_symbol(f);
  if (symbol.empty()) return;
  if (auto bound = f.bound(symbol); bound && batch > *bound)
    data_error("a batch of {} is larger than the bound {} <= {} of @{}", batch, symbol, *bound,
               loss);
  check_statistics(f, symbol, batch, "whole");
  if (last_rows > 0) check_statistics(f, symbol, last_rows, "last");
}

}  // namespace tapeless
