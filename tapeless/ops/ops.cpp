// The table of all ops, expanded from ops.def.
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

constexpr const OpDef* kTable[] = {
#define OP(Name, text) &k##Name##Op,
#include "tapeless/ops/ops.def"
#undef OP
};

}  // namespace

std::span<const OpDef* const> all_ops() { return kTable; }

const OpDef* find_op(std::string_view name) {
  for (const OpDef* def : kTable)
    if (def->name == name) return def;
  return nullptr;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpDef* def : kTable) names.emplace_back(def->name);
  return names;
}

}  // namespace tapeless
