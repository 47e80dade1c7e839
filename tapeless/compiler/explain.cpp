// Reads a compiled program and says what is in it: how it was compiled, by which passes, and where
// parameters are updated.
#include "tapeless/compiler/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "tapeless/compiler/explain_text.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace explaining {

std::string bytes_str(int64_t bytes) {
  if (bytes < 1 << 14) return fmt::format("{} B", bytes);
  if (bytes < 1 << 24) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / (1 << 10));
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

int64_t type_bytes(const Type& type, const SymbolValues& sizes) {
  return product(eval_shape(type.shape, sizes)) * dtype_size(type.dtype);
}

std::string sizes_str(const SymbolValues& sizes) {
  std::vector<std::string> parts;
  for (const auto& [symbol, size] : sizes) parts.push_back(fmt::format("{} = {}", symbol, size));
  return parts.empty() ? "" : fmt::format(" at {}", fmt::join(parts, ", "));
}

std::string storage_name(const EntryPoint& entry, const Storage& storage) {
  if (!storage.name.empty()) return "%" + storage.name;
  auto step = static_cast<size_t>(storage.first);
  return step < entry.steps.size() ? fmt::format("of {} {}", step, entry.steps[step].name) : "-";
}

}  // namespace explaining

using namespace explaining;

namespace {

// The op of the fused function that makes result `name`, and its place in the body.
struct Maker {
  const Op* op = nullptr;
  size_t at = 0;
};

Maker maker_of(const Function& f, const std::string& name) {
  for (size_t r = 0; r < f.results.size(); ++r) {
    if (f.result_names[r] != name) continue;
    for (size_t i = 0; i < f.body.size(); ++i)
      if (f.body[i].get() == f.results[r]->def) return {f.body[i].get(), i};
  }
  return {};
}

std::string region_name(const Op& op) {
  if (!op.is(kFusedOp)) return std::string(op.name());
  return "@" + op.attr<FunctionRef>("callee").name;
}

// A value of the parameter's type that another kernel made and this one reads: its gradient.
const Value* stored_gradient(const Op& op, const Type& type) {
  for (const Value* v : op.operands)
    if (v->def != nullptr && v->type == type) return v;
  return nullptr;
}

bool in_place(const EntryPoint& e, const std::string& name) {
  for (size_t r = 0; r < e.results.size(); ++r)
    if (e.results[r].name == name) return e.places[r].copy_to_param < 0;
  return true;
}

// `B <= 1024`, `any T`: the sizes that one compile serves.
std::string served_sizes(const Executable& executable, const std::string& entry) {
  std::set<std::string> symbols;
  for (const Slot& slot : executable.params(entry))
    for (const Dim& d : slot.type.shape) d.collect_symbols(symbols);
  const auto& bounds = executable.program().entry(entry).bounds;
  std::vector<std::string> parts;
  for (const std::string& symbol : symbols) {
    auto bound = bounds.find(symbol);
    parts.push_back(bound == bounds.end() ? "any " + symbol
                                          : fmt::format("every {} <= {}", symbol, bound->second));
  }
  return parts.empty() ? "" : fmt::format(", for {}", fmt::join(parts, " and "));
}

// An update reads gradients that its caller stores.
bool takes_gradients(const EntryPoint& e, const std::string& param) {
  for (const Slot& slot : e.params)
    if (slot.name == "grad." + param || slot.name == "acc." + param) return true;
  return false;
}

}  // namespace

std::string explain_compile(const Executable& executable, const std::string& entry) {
  const CompileReport& r = executable.report();
  return fmt::format("1 compile in {:.2f} s{}: {} kernels, {} compiled, {} from the cache\n",
                     r.seconds, served_sizes(executable, entry), r.kernels, r.kernels_compiled,
                     r.kernels_cached);
}

std::string explain_updates(const Executable& executable, const std::string& entry,
                            const optim::StepPlan& plan) {
  const Executable::Program& program = executable.program();
  const EntryPoint& e = program.entry(entry);
  const Function& f = *program.fused.get(entry);
  std::string out = fmt::format("{:<20} {:<16} {:<14} {:<14} {}\n", "parameter", "optimizer",
                                "class", "gradient", "updated by");
  int64_t stored_bytes = 0;
  for (const optim::ParamPlan& p : plan.params) {
    std::string gradient = "-", where = p.frozen ? "frozen" : "not read by the loss";
    if (Maker maker = maker_of(f, "%" + p.name); maker.op != nullptr) {
      bool stored = takes_gradients(e, p.name) || stored_gradient(*maker.op, p.type) != nullptr;
      if (stored) stored_bytes += type_bytes(p.type, {});
      gradient = stored ? bytes_str(type_bytes(p.type, {})) : "never stored";
      where = fmt::format("{} of {}: {}{}", maker.at + 1, f.body.size(), region_name(*maker.op),
                          in_place(e, "%" + p.name) ? ", in place" : ", copied back");
    }
    out += fmt::format("{:<20} {:<16} {:<14} {:<14} {}\n", p.name,
                       p.group.empty() ? p.optimizer : p.optimizer + " (" + p.group + ")",
                       p.update.empty() ? "-" : std::string(update_class_name(p.update_class)),
                       gradient, where);
  }
  return out + fmt::format("gradients stored: {}\n", bytes_str(stored_bytes));
}

std::string explain_passes(const std::vector<PassRecord>& passes) {
  std::string out =
      fmt::format("{:<20} {:<16} {:>10} {:>8} {:>9}\n", "after", "stage", "functions", "ops", "ms");
  for (const PassRecord& p : passes) {
    out += fmt::format("{:<20} {:<16} {:>10} {:>8} {:>9.2f}\n", p.pass, stage_name(p.stage),
                       p.functions, p.ops, p.seconds * 1e3);
    if (!p.text.empty()) out += p.text + "\n";
  }
  return out;
}

}  // namespace tapeless
