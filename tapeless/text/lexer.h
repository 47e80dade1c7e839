#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tapeless/support/diagnostics.h"

namespace tapeless {

enum class TokenKind : uint8_t { kWord, kValue, kFunction, kNumber, kString, kPunct, kEnd };

/// `relu`, `%x`, `@f`, `0.5`, `"text"`, `->`. The text is without `%`, `@` and quotes.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 0, column = 0;
  size_t begin = 0, end = 0;  // in the source

  bool is(std::string_view punct_or_word) const {
    return (kind == TokenKind::kWord || kind == TokenKind::kPunct) && text == punct_or_word;
  }
  /// For messages: "`%x`", "end of text".
  std::string str() const;
};

/// The tokens of a text, or of a range of it, and a position in them.
class Tokens {
 public:
  explicit Tokens(std::shared_ptr<const SourceText> source, size_t begin = 0,
                  size_t end = std::string::npos);

  const std::shared_ptr<const SourceText>& source() const { return source_; }
  size_t position() const { return position_; }
  void seek(size_t position) { position_ = position; }

  const Token& peek(size_t ahead = 0) const;
  const Token& next();
  bool at(std::string_view punct_or_word) const { return peek().is(punct_or_word); }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool accept(std::string_view punct_or_word);
  /// The next token, or an error that says what was expected.
  const Token& expect(std::string_view punct_or_word);
  const Token& expect(TokenKind kind, std::string_view what);
  /// From an opening brace to behind its partner.
  void skip_braces();

  Loc loc(const Token& token) const { return {source_, token.line, token.column, {}}; }
  Loc loc() const { return loc(peek()); }
  [[noreturn]] void unexpected(std::string_view expected) const;

 private:
  std::shared_ptr<const SourceText> source_;
  std::vector<Token> tokens_;  // the last one is kEnd
  size_t position_ = 0;
};

}  // namespace tapeless
