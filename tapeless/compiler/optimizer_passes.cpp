// `attach{...}` and `instantiate{...}` of `tapeless opt --passes`.
#include "tapeless/compiler/optimizer_passes.h"

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

std::optional<optim::Nonfinite> policy(const std::string* name) {
  if (name == nullptr) return std::nullopt;
  if (*name == "skip") return optim::Nonfinite::kSkip;
  if (*name == "check_loss") return optim::Nonfinite::kCheckLoss;
  if (*name == "off") return optim::Nonfinite::kOff;
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
