// TOML tables read into typed values, every mistake at its line and column.
#include "tapeless/train/toml_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tapeless {

namespace {

std::string shown(const toml::node& node) {
  std::ostringstream out;
  node.visit([&](const auto& n) {
    if constexpr (toml::is_table<decltype(n)>)
      out << "a table";
    else
      out << n;
  });
  return out.str();
}

std::string expected_number(const char* kind, NumberRange range) {
  NumberRange all;
  std::string text = kind;
  if (range.low != all.low && range.high != all.high)
    return fmt::format("{} from {:g} to {:g}", text, range.low, range.high);
  if (range.low != all.low) return fmt::format("{} of at least {:g}", text, range.low);
  return text;
}

// Moves what `from` holds into `to`, table by table.
void merge(toml::table& to, toml::table&& from) {
  for (auto&& [key, node] : from) {
    toml::node* old = to.get(key);
    if (node.is_table() && old != nullptr && old->is_table())
      merge(*old->as_table(), std::move(*node.as_table()));
    else
      node.visit([&, &key = key](auto& n) { to.insert_or_assign(key, std::move(n)); });
  }
}

}  // namespace

TomlDocument::TomlDocument(std::shared_ptr<const SourceText> source,
                           const std::vector<std::string>& overrides)
    : main_(source->name) {
  sources_.emplace(main_, source);
  root_ = parse(source, source->text);
  for (const std::string& setting : overrides) override_with(setting);
}

toml::table TomlDocument::parse(const std::shared_ptr<const SourceText>& source,
                                const std::string& text) {
  try {
    return toml::parse(text, source->name);
  } catch (const toml::parse_error& error) {
    Loc at{source, static_cast<int>(error.source().begin.line),
           static_cast<int>(error.source().begin.column), ""};
    compile_error(at, "not valid TOML: {}", error.description());
  }
}

// A value that is no TOML is a string: --set optimizer.name=adamw.
void TomlDocument::override_with(const std::string& setting) {
  size_t equals = setting.find('=');
  auto source =
      std::make_shared<SourceText>(SourceText{fmt::format("--set {}", sources_.size()), setting});
  if (equals == std::string::npos || equals == 0)
    compile_error(Loc{source, 1, 1, ""}, "an override is KEY=VALUE, not `{}`", setting);
  sources_.emplace(source->name, source);
  toml::table table;
  try {
    table = toml::parse(setting, source->name);
  } catch (const toml::parse_error&) {
    std::string value = setting.substr(equals + 1);
    table = parse(source, setting.substr(0, equals + 1) + "'" + value + "'");
  }
  merge(root_, std::move(table));
}

Loc TomlDocument::loc(const toml::source_region& region) const {
  auto found = sources_.find(region.path ? *region.path : main_);
  if (found == sources_.end()) found = sources_.find(main_);
  return {found->second, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column),
          ""};
}

void TomlDocument::check() const {
  if (!errors_.empty()) throw CompileError(errors_);
}

TomlSection::TomlSection(TomlDocument& document, const toml::table* table, std::string name,
                         std::map<std::string, Loc, std::less<>>& locs)
    : document_(document), table_(table), name_(std::move(name)), locs_(locs) {
  if (table_ != nullptr) locs_.insert_or_assign(name_, document_.loc(table_->source()));
}

std::string TomlSection::path(std::string_view key) const {
  return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
}

const toml::node* TomlSection::find(const char* key) {
  known_.emplace_back(key);
  const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
  if (node != nullptr) locs_.insert_or_assign(path(key), document_.loc(node->source()));
  return node;
}

Loc TomlSection::at(const char* key) const {
  auto found = locs_.find(path(key));
  if (found != locs_.end()) return found->second;
  found = locs_.find(name_);
  return found != locs_.end() ? found->second : document_.loc({});
}

void TomlSection::expect(const toml::node& node, const std::string& key,
                         const std::string& expected) {
  document_.error(document_.loc(node.source()),
                  fmt::format("`{}` must be {}, not {}", key, expected, shown(node)));
}

void TomlSection::boolean(const char* key, bool& target) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (node->is_boolean())
    target = node->as_boolean()->get();
  else
    expect(*node, key, "true or false");
}

void TomlSection::integer(const char* key, int64_t& target, int64_t low) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (node->is_integer() && node->as_integer()->get() >= low)
    target = node->as_integer()->get();
  else
    expect(*node, key, fmt::format("a whole number of at least {}", low));
}

std::optional<double> TomlSection::number_of(const toml::node& node, const std::string& key,
                                             NumberRange range) {
  std::optional<double> value;
  if (node.is_number()) value = node.value<double>();
  if (value && std::isfinite(*value) && *value >= range.low && *value <= range.high) return value;
  expect(node, key, expected_number("a number", range));
  return std::nullopt;
}

void TomlSection::number(const char* key, double& target, NumberRange range) {
  std::optional<double> value;
  number(key, value, range);
  if (value) target = *value;
}

void TomlSection::number(const char* key, std::optional<double>& target, NumberRange range) {
  if (const toml::node* node = find(key)) target = number_of(*node, key, range);
}

void TomlSection::numbers(const char* key, std::vector<double>& target, NumberRange range) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  target.clear();
  if (!node->is_array()) {
    if (auto value = number_of(*node, key, range)) target.push_back(*value);
    return;
  }
  for (const toml::node& item : *node->as_array())
    if (auto value = number_of(item, key, range)) target.push_back(*value);
}

void TomlSection::string(const char* key, std::string& target) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (node->is_string())
    target = node->as_string()->get();
  else
    expect(*node, key, "a string");
}

void TomlSection::strings(const char* key, std::vector<std::string>& target) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  target.clear();
  if (node->is_string()) return target.push_back(node->as_string()->get());
  if (!node->is_array()) return expect(*node, key, "a list of strings");
  for (const toml::node& item : *node->as_array())
    if (item.is_string())
      target.push_back(item.as_string()->get());
    else
      expect(item, key, "a list of strings");
}

bool TomlSection::choice(const char* key, std::string& target,
                         const std::vector<std::string>& choices) {
  const toml::node* node = find(key);
  if (node == nullptr) return true;
  std::string value = node->is_string() ? node->as_string()->get() : "";
  bool known = std::find(choices.begin(), choices.end(), value) != choices.end();
  if (known)
    target = value;
  else
    expect(*node, key, fmt::format("one of {}", fmt::join(choices, ", ")));
  return known;
}

const toml::table* TomlSection::table(const char* key) {
  const toml::node* node = find(key);
  if (node != nullptr && !node->is_table()) expect(*node, key, "a table");
  return node == nullptr ? nullptr : node->as_table();
}

const toml::array* TomlSection::tables(const char* key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  bool good = node->is_array() && node->as_array()->is_homogeneous(toml::node_type::table);
  if (!good) expect(*node, key, "a list of tables");
  return good ? node->as_array() : nullptr;
}

RecipeSetting TomlSection::setting(const toml::key& key, const toml::node& node) {
  RecipeSetting result{std::string(key.str()), 0.0, document_.loc(node.source())};
  if (node.is_boolean()) {
    result.value = node.as_boolean()->get();
  } else if (node.is_string()) {
    result.value = node.as_string()->get();
  } else {
    // A rate below 0 or a value that is not finite is wrong for every optimizer.
    NumberRange range;
    if (key == "lr") range.low = 0;
    result.value = number_of(node, result.name, range).value_or(0);
  }
  return result;
}

void TomlSection::rest(std::vector<RecipeSetting>& settings) {
  if (table_ == nullptr) return;
  for (auto&& [key, node] : *table_) {
    std::string word(key.str());
    if (std::find(known_.begin(), known_.end(), word) != known_.end()) continue;
    known_.push_back(word);
    settings.push_back(setting(key, node));
    locs_.insert_or_assign(path(word), settings.back().loc);
  }
}

void TomlSection::finish(const std::string& where) {
  if (table_ == nullptr) return;
  for (auto&& [key, node] : *table_) {
    std::string word(key.str());
    if (std::find(known_.begin(), known_.end(), word) != known_.end()) continue;
    std::string near = nearest(word, known_);
    std::string message = fmt::format("unknown {} `{}`{}{}", node.is_table() ? "section" : "key",
                                      word, name_.empty() ? "" : " in [" + name_ + "]", where);
    if (!near.empty()) message += fmt::format(", did you mean `{}`?", near);
    document_.error(document_.loc(key.source()), message);
  }
}

}  // namespace tapeless
