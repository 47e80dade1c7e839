#pragma once

#include <fmt/core.h>

#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace tapeless {

/// A text that locations point into: a .tir file, a recipe, a C++ file (text empty).
struct SourceText {
  std::string name;
  std::string text;
};

/// Where something came from. Lines and columns count from 1; 0 is "not known".
struct Loc {
  std::shared_ptr<const SourceText> source;
  int line = 0;
  int column = 0;
  /// Why a derived op exists, such as "gradient of"; empty for what the user wrote.
  std::string reason;

  /// The C++ line that calls a builder.
  static Loc here(std::source_location at = std::source_location::current());
  /// The same place with a reason in front.
  Loc derived(std::string why) const;
  /// `file:line:column`, the reason in front where there is one.
  std::string str() const;
};

struct Diagnostic {
  Loc loc;
  std::string message;
  /// `file:line:column: error: message`, the source line and a caret below where the text is known.
  std::string str() const;
};

/// A mistake in a program, recipe or call. Carries every diagnostic found.
class CompileError : public std::runtime_error {
 public:
  explicit CompileError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// A mistake in data met at load or run time: a file, a batch, a label, a checkpoint.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void throw_compile_error(Loc loc, std::string message);

template <class... Args>
[[noreturn]] void compile_error(const Loc& loc, fmt::format_string<Args...> format,
                                Args&&... args) {
  throw_compile_error(loc, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void data_error(fmt::format_string<Args...> format, Args&&... args) {
  throw DataError(fmt::format(format, std::forward<Args>(args)...));
}

/// The candidate closest to `word` by edit distance, or empty when none is near: for
/// "unknown key `learning_rat`, did you mean `learning_rate`?".
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace tapeless
