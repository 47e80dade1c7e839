// Expansion of composite ops, in rounds: one round replaces what it finds, the next looks at what
// was built.
#include "tapeless/ops/expand.h"

#include <algorithm>

#include "tapeless/ir/clone.h"

namespace tapeless {

namespace {

void expand_op(Builder& b, const Op& op, ValueMap& map) {
  TL_CHECK(op.def().expand != nullptr, "[{}] has no expansion", op.name());
  b.set_loc(op.loc);
  std::vector<Value*> operands = map.all(op.operands);
  std::vector<Value*> values = op.def().expand(b, op, operands);
  TL_CHECK(values.size() == op.results.size(), "[{}] expansion", op.name());
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& result = *op.results[i];
    // Rows expand to the matrix that they stand for.
    const Type& type = values[i]->type;
    TL_CHECK(type.dtype == result.type.dtype && type.shape == result.type.shape,
             "[{}] expands to {} instead of {}", op.name(), type.str(), result.type.str());
    if (values[i]->name.empty()) values[i]->name = result.name;
    map.set(&result, values[i]);
  }
}

}  // namespace

std::unique_ptr<Function> expand_ops(const Function& f, const Module& module,
                                     bool (*which)(const OpDef& def)) {
  std::unique_ptr<Function> current = clone(f);
  auto picked = [&](const auto& op) { return which(op->def()); };
  while (std::any_of(current->body.begin(), current->body.end(), picked)) {
    ValueMap map;
    std::unique_ptr<Function> next = clone_signature(*current, map);
    Builder b(*next, &module);
    for (const auto& op : current->body)
      which(op->def()) ? expand_op(b, *op, map) : static_cast<void>(clone_op(b, *op, map));
    for (size_t i = 0; i < current->results.size(); ++i)
      next->add_result(map[current->results[i]], current->result_names[i]);
    current = std::move(next);
  }
  return current;
}

}  // namespace tapeless
