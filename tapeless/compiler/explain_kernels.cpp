// The kernels of an entry point, and their code.
#include <fmt/format.h>

#include <map>
#include <set>

#include "tapeless/compiler/explain.h"
#include "tapeless/compiler/explain_text.h"
#include "tapeless/compiler/work.h"
#include "tapeless/inline/inline_calls.h"
#include "tapeless/ir/print.h"
#include "tapeless/loop/print.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

using namespace explaining;

namespace {

// The ops of a region by source line, in the order of the region: one line of text each.
std::string ops_by_line(const Function& region) {
  std::vector<std::pair<std::string, std::string>> lines;  // place, ops
  for (const auto& op : region.body) {
    if (op->is(kConstantOp)) continue;
    std::string at = op->loc.str(), name(op->name());
    if (lines.empty() || lines.back().first != at)
      lines.emplace_back(at, name);
    else
      lines.back().second += ", " + name;
  }
  std::string out;
  for (const auto& [at, ops] : lines) out += fmt::format("        {:<36}  {}\n", ops, at);
  return out;
}

std::string flops_str(double flops) {
  if (flops < 1e4) return fmt::format("{:.0f} flop", flops);
  if (flops < 1e7) return fmt::format("{:.1f} kflop", flops / 1e3);
  if (flops < 1e10) return fmt::format("{:.1f} Mflop", flops / 1e6);
  return fmt::format("{:.1f} Gflop", flops / 1e9);
}

// The sizes that a launch passes.
std::vector<int64_t> launch_sizes(const Step& step, const SymbolValues& sizes, int threads) {
  std::vector<int64_t> values;
  for (const std::string& symbol : step.symbols)
    values.push_back(symbol == "@threads" ? threads : sizes.at(symbol));
  return values;
}

}  // namespace

std::string explain_kernels(const Executable& executable, const std::string& entry,
                            const SymbolValues& sizes) {
  const Executable::Program& program = executable.program();
  const EntryPoint& e = program.entry(entry);
  int threads = program.options.threads;
  std::string out = fmt::format("@{}: {} steps{}, {} threads\n", entry, e.steps.size(),
                                sizes_str(sizes), threads);
  std::map<std::string, size_t> first_use;
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Step& step = e.steps[i];
    if (step.kernel < 0) {
      out += fmt::format("{:>4}  {}  C code, {}\n", i, step.name, step.loc.str());
      continue;
    }
    const loop::Kernel& kernel = program.kernels[static_cast<size_t>(step.kernel)];
    const Function& region = *program.fused.get(step.region);
    std::vector<int64_t> values = launch_sizes(step, sizes, threads);
    auto value = [&](const loop::Expr& expr, int64_t fallback) {
      return expr ? loop::evaluate(expr, kernel.sizes, values) : fallback;
    };
    Work work = region_work(region, sizes);
    out += fmt::format("{:>4}  {}  tasks {}, {}, {} moved, scratch {}\n        {}", i, step.name,
                       value(kernel.tasks, 1), flops_str(work.flops),
                       bytes_str(static_cast<int64_t>(work.bytes)),
                       bytes_str(value(kernel.scratch_bytes, 0)), step.how);
    auto [found, first] = first_use.try_emplace(loop::canonical_text(kernel), i);
    out += first ? "\n" : fmt::format(", the code of step {}\n", found->second);
    out += ops_by_line(region);
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
