#pragma once

#include <toml++/toml.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tapeless/train/recipe.h"

namespace tapeless {

/// A parsed TOML document with overrides merged in. Nodes know which text they came from.
class TomlDocument {
 public:
  TomlDocument(std::shared_ptr<const SourceText> source, const std::vector<std::string>& overrides);

  toml::table& root() { return root_; }
  Loc loc(const toml::source_region& region) const;

  void error(const Loc& loc, std::string message) { errors_.push_back({loc, std::move(message)}); }
  /// Throws what was collected.
  void check() const;

 private:
  toml::table parse(const std::shared_ptr<const SourceText>& source, const std::string& text);
  void override_with(const std::string& setting);

  toml::table root_;
  std::map<std::string, std::shared_ptr<const SourceText>> sources_;
  std::string main_;
  std::vector<Diagnostic> errors_;
};

/// Limits of a number, both included.
struct NumberRange {
  double low = std::numeric_limits<double>::lowest();
  double high = std::numeric_limits<double>::max();
};

/// One table of the document. Reading a key that is absent leaves the target as it is; a wrong
/// value is an error of the document.
class TomlSection {
 public:
  /// `table` may be null: an absent section.
  TomlSection(TomlDocument& document, const toml::table* table, std::string name,
              std::map<std::string, Loc, std::less<>>& locs);

  void boolean(const char* key, bool& target);
  void integer(const char* key, int64_t& target, int64_t low);
  void number(const char* key, double& target, NumberRange range);
  void number(const char* key, std::optional<double>& target, NumberRange range);
  void numbers(const char* key, std::vector<double>& target, NumberRange range);
  void string(const char* key, std::string& target);
  /// A string or a list of strings.
  void strings(const char* key, std::vector<std::string>& target);
  /// False where the value is none of the choices.
  bool choice(const char* key, std::string& target, const std::vector<std::string>& choices);

  /// A table or a list of tables inside; null where absent or of another type, which is an error.
  const toml::table* table(const char* key);
  const toml::array* tables(const char* key);

  bool has(const char* key) const { return table_ != nullptr && table_->contains(key); }
  Loc at(const char* key) const;
  /// Keys that nobody read are settings where they are plain values.
  void rest(std::vector<RecipeSetting>& settings);
  /// Keys that nobody read are errors; `where` says more about the section.
  void finish(const std::string& where = "");

 private:
  std::string path(std::string_view key) const;
  const toml::node* find(const char* key);
  void expect(const toml::node& node, const std::string& key, const std::string& expected);
  std::optional<double> number_of(const toml::node& node, const std::string& key,
                                  NumberRange range);
  RecipeSetting setting(const toml::key& key, const toml::node& node);

  TomlDocument& document_;
  const toml::table* table_;
  std::string name_;
  std::map<std::string, Loc, std::less<>>& locs_;
  std::vector<std::string> known_;
};

}  // namespace tapeless
