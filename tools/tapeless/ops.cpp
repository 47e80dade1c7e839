// `tapeless ops`: the table of ops, or one op in full, from the definitions themselves.
#include <fmt/format.h>

#include "commands.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/support/diagnostics.h"

namespace tapeless {

namespace {

std::string fallback_str(const AttrDef& attr) {
  if (const auto* b = std::get_if<bool>(&attr.fallback)) return *b ? " = true" : " = false";
  if (const auto* i = std::get_if<int64_t>(&attr.fallback)) return fmt::format(" = {}", *i);
  if (const auto* d = std::get_if<double>(&attr.fallback)) return " = " + real_str(*d);
  if (const auto* s = std::get_if<std::string_view>(&attr.fallback))
    return fmt::format(" = {}", *s);
  return attr.optional ? ", may be absent" : ", must be given";
}

std::string operands_str(const OpDef& def) {
  if (def.max_operands == def.min_operands) return std::to_string(def.min_operands);
  if (def.max_operands < 0) return fmt::format("{} or more", def.min_operands);
  return fmt::format("{} to {}", def.min_operands, def.max_operands);
}

std::string_view gradient_str(const OpDef& def) {
  if (def.vjp == kNoGradient) return "none: an error";
  if (def.vjp == kZeroGradient) return "zero";
  return def.vjp != nullptr ? "a rule of its own" : "that of its expansion";
}

std::string forms_str(const OpDef& def) {
  if (!def.differs_by_mode()) return "the same in train and infer";
  std::string out = def.train != nullptr ? "train" : "";
  if (def.infer != nullptr) out += out.empty() ? "infer" : " and infer, which differ";
  return out;
}

std::string_view kernel_str(const OpDef& def) {
  if (def.lower == nullptr) return def.expand != nullptr ? "made of simpler ops" : "none";
  if (def.lower->reduction != nullptr) return "a reduction";
  if (def.lower->contraction != nullptr) return "a contraction";
  if (def.lower->scatter != nullptr) return "a scatter";
  return def.lower->alias       ? "none: an alias of its operand"
         : def.lower->pointwise ? "elementwise"
                                : "by element";
}

void print_op(const OpDef& def) {
  fmt::print("{}: {}\n\n", def.name, def.doc);
  fmt::print("  operands   {}\n", operands_str(def));
  for (const AttrDef& attr : def.attrs)
    fmt::print("  attribute  {}: {}{}. {}\n", attr.name, attr_kind_name(attr.kind),
               fallback_str(attr), attr.doc);
  fmt::print("  forms      {}\n  gradient   {}\n  kernel     {}\n", forms_str(def),
             gradient_str(def), kernel_str(def));
  fmt::print("  stages     {} to {}\n", stage_name(def.legal_from), stage_name(def.legal_until));
  for (const OpCase& sample : def.cases)
    fmt::print("  tested     {}{}{}{}\n", sample.operands, sample.attrs.empty() ? "" : " {",
               sample.attrs, sample.attrs.empty() ? "" : "}");
}

void ops(const std::string& name) {
  if (name.empty()) {
    for (const OpDef* def : all_ops()) fmt::print("{:<20} {}\n", def->name, def->doc);
    return;
  }
  const OpDef* def = find_op(name);
  if (def != nullptr) return print_op(*def);
  std::string near = nearest(name, op_names());
  data_error("no op `{}`{}", name, near.empty() ? "" : ", did you mean `" + near + "`?");
}

}  // namespace

void add_ops(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("ops", "List all ops, or describe one");
  command->add_option("NAME", *name, "an op: its operands, attributes, forms, gradient, kernel");
  command->callback([name] { ops(*name); });
}

}  // namespace tapeless
