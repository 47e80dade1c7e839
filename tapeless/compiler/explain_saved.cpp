// What lives from the forward part of a step to its backward part.
#include <fmt/format.h>

#include <set>

#include "tapeless/autodiff/differentiate.h"
#include "tapeless/autodiff/split.h"
#include "tapeless/compiler/explain.h"
#include "tapeless/compiler/explain_text.h"
#include "tapeless/inline/inline_calls.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/precision/lower_precision.h"

namespace tapeless {

using namespace explaining;

namespace {

// A region is of the backward where its heavy op is, or where it has none its last one.
bool is_backward(const Function& region) {
  const Op* what = region.body.back().get();
  for (const auto& op : region.body)
    if (op->def().lower != nullptr && op->def().lower->element == nullptr) what = op.get();
  return what->loc.reason.find("gradient of") != std::string::npos;
}

int first_backward_step(const Executable::Program& program, const EntryPoint& e) {
  for (size_t i = 0; i < e.steps.size(); ++i)
    if (e.steps[i].kernel >= 0 && is_backward(*program.fused.get(e.steps[i].region)))
      return static_cast<int>(i);
  return static_cast<int>(e.steps.size());
}

// The steps from `first` on that use a storage.
std::vector<size_t> readers(const EntryPoint& e, int storage, int first) {
  std::vector<size_t> out;
  for (size_t i = static_cast<size_t>(first); i < e.steps.size(); ++i)
    for (int s : e.steps[i].storages)
      if (s == storage && (out.empty() || out.back() != i)) out.push_back(i);
  return out;
}

std::string readers_str(const EntryPoint& e, const std::vector<size_t>& steps) {
  const Step& step = e.steps[steps[0]];
  std::string out = fmt::format("{} {}", steps[0], step.name);
  if (steps.size() > 1) out += fmt::format(" and {} more", steps.size() - 1);
  return out + ", " + step.loc.str();
}

}  // namespace

std::string explain_kept(const Executable& executable, const std::string& entry,
                         const SymbolValues& sizes) {
  const EntryPoint& e = executable.program().entry(entry);
  int boundary = first_backward_step(executable.program(), e);
  if (boundary == static_cast<int>(e.steps.size()))
    return fmt::format("@{} has no backward part\n", entry);
  std::string kept, referred;
  int64_t total = 0;
  for (size_t i = 0; i < e.storages.size(); ++i) {
    const Storage& s = e.storages[i];
    std::vector<size_t> used = readers(e, static_cast<int>(i), boundary);
    if (used.empty()) continue;
    if (s.place == Storage::Place::kArena && s.first < boundary) {
      int64_t bytes = s.bytes.eval(sizes);
      total += bytes;
      kept += fmt::format("{:>12}  {:<40} read by step {}\n", bytes, storage_name(e, s),
                          readers_str(e, used));
    } else if (s.place == Storage::Place::kParam) {
      const Slot& slot = e.params[static_cast<size_t>(s.index)];
      if (slot.role == Role::kHyper || slot.role == Role::kKey) continue;
      referred += fmt::format("{:>12}  {:<40} read by step {}\n", type_bytes(slot.type, sizes),
                              fmt::format("%{} ({})", slot.name, role_name(slot.role)),
                              readers_str(e, used));
    }
  }
  return fmt::format(
      "@{} keeps {} from its forward part (steps 0 to {}) for its backward part{}:\n{}"
      "by reference, not kept:\n{}",
      entry, bytes_str(total), boundary - 1, sizes_str(sizes), kept, referred);
}

std::string explain_cut(const Module& source, const std::string& loss,
                        const TrainingChoices& choices) {
  ModeRequest request{loss, Mode::kTrain};
  Module module = specialize(source, {&request, 1});
  if (choices.bf16) module = lower_precision(module);
  std::string function = loss + ".train";
  module = differentiate(module, {.function = function, .of = {"0"}});
  SplitRequest split_request{.function = function, .sizes = choices.sizes};
  return fmt::format("as functions of their own, what @{}.backward reads of @{}.forward:\n{}",
                     function, function,
                     explain_saved(list_saved(split(module, split_request), split_request)));
}

std::string explain_cuts(const Module& module, const SymbolValues& sizes) {
  std::string out;
  for (const auto& f : module.functions) {
    if (!f->has_body() || module.find(f->name + ".vjp") == nullptr) continue;
    SplitRequest request{.function = f->name, .sizes = sizes};
    Module flat = inline_calls(module);
    if (flat.find(f->name + ".backward") == nullptr) flat = split(flat, request);
    out += fmt::format("what the backward of @{} reads of its forward{}:\n{}", f->name,
                       sizes_str(sizes), explain_saved(list_saved(flat, request)));
  }
  return out;
}

}  // namespace tapeless
