// `attach{...}` and `instantiate{...}` of `tapeless opt --passes`.
#include "tapeless/compiler/optimizer_passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "tapeless/optim/attach.h"
#include "tapeless/optim/parse_optimizer.h"
#include "tapeless/text/parser.h"

namespace tapeless {

namespace {

using optim::Setting;
using optim::Settings;

const std::string* text(const AttrMap& options, std::string_view key) {
  auto found = options.find(key);
  return found == options.end() ? nullptr : &std::get<std::string>(found->second);
}

bool flag(const AttrMap& options, std::string_view key) {
  return std::get<bool>(options.find(key)->second);
}

std::optional<double> real(const AttrMap& options, std::string_view key) {
  auto found = options.find(key);
  if (found == options.end()) return std::nullopt;
  return std::get<double>(found->second);
}

Setting setting(Tokens& tokens, TypeParser& parser) {
  if (tokens.accept("true")) return true;
  if (tokens.accept("false")) return false;
  if (tokens.at(TokenKind::kWord) && !parser.at_number()) return tokens.next().text;
  Attr number = parser.number();
  if (const auto* integer = std::get_if<int64_t>(&number)) return static_cast<double>(*integer);
  return std::get<double>(number);
}

Settings settings(const std::string& text) {
  Tokens tokens(std::make_shared<SourceText>(SourceText{"settings", text}));
  Symbols symbols;
  TypeParser parser(tokens, symbols);
  Settings out;
  while (!tokens.at(TokenKind::kEnd)) {
    std::string key = tokens.expect(TokenKind::kWord, "a setting").text;
    tokens.expect("=");
    out[key] = setting(tokens, parser);
    if (!tokens.at(TokenKind::kEnd)) tokens.expect(",");
  }
  return out;
}

constexpr optim::Nonfinite kPolicies[] = {optim::Nonfinite::kOff, optim::Nonfinite::kCheckLoss,
                                          optim::Nonfinite::kSkip};

const char* policy_name(optim::Nonfinite policy) {
  switch (policy) {
    case optim::Nonfinite::kOff:
      return "off";
    case optim::Nonfinite::kCheckLoss:
      return "check_loss";
    case optim::Nonfinite::kSkip:
      break;
  }
  return "skip";
}

std::optional<optim::Nonfinite> policy(const std::string* name) {
  if (name == nullptr) return std::nullopt;
  for (optim::Nonfinite known : kPolicies)
    if (*name == policy_name(known)) return known;
  data_error("attach: nonfinite must be off, check_loss or skip, got {}", *name);
}

}  // namespace

Module attach_pass(const Module& module, const AttrMap& options) {
  optim::StepOptions step;
  step.loss = *text(options, "loss");
  step.optimizer = *text(options, "optimizer");
  step.settings = settings(*text(options, "settings"));
  step.inline_step = flag(options, "inline");
  step.separate_step = flag(options, "separate");
  step.accumulation = flag(options, "accumulation");
  step.decay_all = flag(options, "decay_all");
  step.clip_norm = real(options, "clip_norm");
  step.clip_value = real(options, "clip_value");
  step.ema_decay = real(options, "ema_decay");
  step.nonfinite = policy(text(options, "nonfinite"));
  if (auto frozen = options.find("frozen"); frozen != options.end()) {
    optim::Group group;
    group.name = "frozen";
    group.frozen = true;
    for (const Dim& d : std::get<Shape>(frozen->second)) group.patterns.push_back(d.str());
    step.groups.push_back(std::move(group));
  }
  return optim::attach(module, step).module;
}

std::string attach_text(const optim::StepOptions& options) {
  auto value = [](const Setting& s) {
    if (const auto* word = std::get_if<std::string>(&s)) return *word;
    if (const auto* flag = std::get_if<bool>(&s)) return fmt::format("{}", *flag);
    return fmt::format("{}", std::get<double>(s));
  };
  std::vector<std::string> settings, frozen;
  for (const auto& [key, setting] : options.settings)
    settings.push_back(fmt::format("{} = {}", key, value(setting)));
  for (const optim::Group& group : options.groups)
    if (group.frozen) frozen.insert(frozen.end(), group.patterns.begin(), group.patterns.end());
  std::string out = fmt::format(
      "loss = {}, optimizer = \"{}\", settings = \"{}\", inline = {}, separate = {}, "
      "accumulation = {}, decay_all = {}",
      options.loss, options.optimizer, fmt::join(settings, ", "), options.inline_step,
      options.separate_step, options.accumulation, options.decay_all);
  if (!frozen.empty()) out += fmt::format(", frozen = [{}]", fmt::join(frozen, ", "));
  if (options.clip_norm) out += fmt::format(", clip_norm = {}", *options.clip_norm);
  if (options.clip_value) out += fmt::format(", clip_value = {}", *options.clip_value);
  if (options.ema_decay) out += fmt::format(", ema_decay = {}", *options.ema_decay);
  if (options.nonfinite) out += std::string(", nonfinite = ") + policy_name(*options.nonfinite);
  return out;
}

Module instantiate_pass(const Module& module, const AttrMap& options) {
  Tokens tokens(std::make_shared<SourceText>(SourceText{"weight", *text(options, "weight")}));
  Symbols symbols;
  symbols.open = true;
  Type weight = TypeParser(tokens, symbols).type();
  Settings given = settings(*text(options, "settings"));
  optim::OptimizerDef def = optim::find_optimizer(*text(options, "optimizer"), &module, {});
  optim::hyper_values(def, given, {});
  Module out;
  out.stage = Stage::kStepped;
  out.functions.push_back(optim::instantiate(def, weight, "w", given).update);
  return out;
}

}  // namespace tapeless
