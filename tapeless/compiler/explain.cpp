// Reads a compiled program and says what is in it.
#include "tapeless/compiler/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tapeless/compiler/program.h"
#include "tapeless/inline/inline_calls.h"
#include "tapeless/ir/op_def.h"
#include "tapeless/ir/print.h"
#include "tapeless/loop/print.h"
#include "tapeless/ops/ops.h"
#include "tapeless/plan/plan.h"

namespace tapeless {

namespace {

std::string bytes_str(int64_t bytes) {
  if (bytes < 1 << 14) return fmt::format("{} B", bytes);
  if (bytes < 1 << 24) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / (1 << 10));
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

int64_t type_bytes(const Type& type, const SymbolValues& sizes) {
  return product(eval_shape(type.shape, sizes)) * dtype_size(type.dtype);
}

// A row of the drawing: `#` for the columns whose steps need the storage.
std::string lifetime_bar(const Storage& s, int steps) {
  constexpr int kColumns = 60;
  int columns = std::min(steps, kColumns);
  std::string bar(static_cast<size_t>(columns), '.');
  int last = std::min(s.last, steps - 1);
  for (int c = s.first * columns / steps; c <= last * columns / steps; ++c)
    bar[static_cast<size_t>(c)] = '#';
  return bar;
}

Placement place_arena(const EntryPoint& e, const SymbolValues& sizes) {
  std::vector<Lifetime> lifetimes;
  for (const Storage& s : e.storages)
    lifetimes.push_back(s.place == Storage::Place::kArena
                            ? Lifetime{s.bytes.eval(sizes), s.first, s.last}
                            : Lifetime{0, s.first, s.last});
  return place(lifetimes);
}

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

}  // namespace

std::string explain_compile(const Executable& executable) {
  const CompileReport& r = executable.report();
  return fmt::format("1 compile in {:.2f} s: {} kernels, {} compiled, {} from the cache\n",
                     r.seconds, r.kernels, r.kernels_compiled, r.kernels_cached);
}

std::string explain_plan(const Executable& executable, const std::string& entry,
                         const SymbolValues& sizes) {
  const EntryPoint& e = executable.program().entry(entry);
  Placement placement = place_arena(e, sizes);
  int steps = std::max(1, static_cast<int>(e.steps.size()));
  std::vector<size_t> order(e.storages.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return placement.offsets[a] < placement.offsets[b]; });
  std::string out =
      fmt::format("@{}: {} steps, arena {} (no plan could do with less than {})\n", entry,
                  e.steps.size(), bytes_str(placement.total), bytes_str(placement.lower_bound));
  out += fmt::format("{:>12} {:>12}  {:>4} {:>4}  {:<24} alive\n", "offset", "bytes", "from", "to",
                     "value");
  for (size_t i : order) {
    const Storage& s = e.storages[i];
    if (s.place != Storage::Place::kArena) continue;
    out += fmt::format("{:>12} {:>12}  {:>4} {:>4}  {:<24} {}\n", placement.offsets[i],
                       s.bytes.eval(sizes), s.first, s.last, s.name.empty() ? "-" : "%" + s.name,
                       lifetime_bar(s, steps));
  }
  int64_t params = 0, constants = 0;
  for (const Slot& slot : e.params) params += type_bytes(slot.type, sizes);
  for (const Storage& s : e.storages)
    if (s.place == Storage::Place::kConstant) constants += s.constant.bytes();
  return out + fmt::format("outside the arena: parameters, states and inputs {}, constants {}\n",
                           bytes_str(params), bytes_str(constants));
}

std::string explain_kernels(const Executable& executable, const std::string& entry,
                            const SymbolValues& sizes) {
  const Executable::Program& program = executable.program();
  const EntryPoint& e = program.entry(entry);
  std::string out = fmt::format("{:>4}  {:>9}  {:>10}  kernel\n", "step", "tasks", "scratch");
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Step& step = e.steps[i];
    if (step.kernel < 0) {
      out += fmt::format("{:>4}  {:>9}  {:>10}  {} (C code)\n", i, "", "", step.name);
      continue;
    }
    const loop::Kernel& kernel = program.kernels[static_cast<size_t>(step.kernel)];
    std::vector<int64_t> values;
    for (const std::string& symbol : step.symbols) {
      auto found = sizes.find(symbol);
      values.push_back(found == sizes.end() ? 1 : found->second);
    }
    auto value = [&](const loop::Expr& expr, int64_t fallback) {
      return expr ? loop::evaluate(expr, kernel.sizes, values) : fallback;
    };
    out += fmt::format("{:>4}  {:>9}  {:>10}  {}  {}\n", i, value(kernel.tasks, 1),
                       bytes_str(value(kernel.scratch_bytes, 0)), step.name, step.loc.str());
  }
  return out;
}

std::string explain_updates(const Executable& executable, const std::string& entry,
                            const optim::StepPlan& plan) {
  const Executable::Program& program = executable.program();
  const EntryPoint& e = program.entry(entry);
  const Function& f = *program.fused.get(entry);
  std::string out = fmt::format("{:<20} {:<16} {:<14} {:<14} {}\n", "parameter", "optimizer",
                                "class", "gradient", "updated by");
  for (const optim::ParamPlan& p : plan.params) {
    std::string gradient = "-", where = p.frozen ? "frozen" : "not read by the loss";
    if (Maker maker = maker_of(f, "%" + p.name); maker.op != nullptr) {
      const Value* stored = stored_gradient(*maker.op, p.type);
      gradient = stored == nullptr ? "never stored" : bytes_str(type_bytes(p.type, {}));
      where = fmt::format("{} of {}: {}{}", maker.at + 1, f.body.size(), region_name(*maker.op),
                          in_place(e, "%" + p.name) ? ", in place" : ", copied back");
    }
    out += fmt::format("{:<20} {:<16} {:<14} {:<14} {}\n", p.name,
                       p.group.empty() ? p.optimizer : p.optimizer + " (" + p.group + ")",
                       p.update.empty() ? "-" : std::string(update_class_name(p.update_class)),
                       gradient, where);
  }
  return out;
}

std::string dump_code(const Executable& executable, const std::string& entry,
                      const std::string& form) {
  const Executable::Program& program = executable.program();
  const EntryPoint& e = program.entry(entry);
  if (form == "tir") return print(keep_reachable(program.fused, {&entry, 1}));
  Target target = make_target(program.options.cpu);
  std::string out;
  std::set<std::string> seen;
  for (const Step& step : e.steps) {
    if (step.kernel < 0) continue;
    const loop::Kernel& kernel = program.kernels[static_cast<size_t>(step.kernel)];
    if (!seen.insert(loop::canonical_text(kernel)).second) continue;
    out += form == "loop"   ? loop::print(kernel)
           : form == "llvm" ? llvm_text(kernel, target)
                            : asm_text(kernel, target);
    out += "\n";
  }
  return out;
}

}  // namespace tapeless
