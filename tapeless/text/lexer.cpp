// The lexer. Comments run from `//` or `#` to the end of the line. `//` is also the floor-division
// of sizes: inside brackets, behind a word, a number or a closing parenthesis.
#include "tapeless/text/lexer.h"

namespace tapeless {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

class Lexer {
 public:
  Lexer(std::shared_ptr<const SourceText> source, size_t begin, size_t end)
      : source_(std::move(source)), text_(source_->text), end_(std::min(end, text_.size())) {
    while (at_ < begin) advance();
  }

  std::vector<Token> run() {
    for (skip_blanks(); at_ < end_; skip_blanks()) token();
    start();
    emit(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  char look(size_t ahead = 0) const { return at_ + ahead < end_ ? text_[at_ + ahead] : '\0'; }

  void advance() {
    bool newline = text_[at_++] == '\n';
    line_ += newline ? 1 : 0;
    column_ = newline ? 1 : column_ + 1;
  }

  void start() {
    token_ = {};
    token_.line = line_;
    token_.column = column_;
    token_.begin = at_;
  }

  void emit(TokenKind kind, std::string text) {
    token_.kind = kind;
    token_.text = std::move(text);
    token_.end = at_;
    tokens_.push_back(token_);
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw_compile_error({source_, token_.line, token_.column, {}}, message);
  }

  bool at_division() const {
    if (look() != '/' || look(1) != '/' || brackets_ == 0 || tokens_.empty()) return false;
    const Token& last = tokens_.back();
    return last.kind == TokenKind::kWord || last.kind == TokenKind::kNumber || last.is(")");
  }

  void skip_blanks() {
    while (at_ < end_) {
      char c = look();
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        advance();
      } else if (c == '#' || (c == '/' && look(1) == '/' && !at_division())) {
        while (at_ < end_ && look() != '\n') advance();
      } else {
        return;
      }
    }
  }

  void token() {
    start();
    char c = look();
    if (is_letter(c)) return emit(TokenKind::kWord, name());
    if (is_digit(c)) return number();
    if (c == '"') return string();
    if (c == '%' || c == '@') {
      advance();
      std::string text = name();
      if (text.empty()) fail(std::string("expected a name after `") + c + "`");
      return emit(c == '%' ? TokenKind::kValue : TokenKind::kFunction, std::move(text));
    }
    punctuation();
  }

  std::string name() {
    size_t from = at_;
    while (is_name(look())) advance();
    return text_.substr(from, at_ - from);
  }

  void digits() {
    while (is_digit(look())) advance();
  }

  void number() {
    size_t from = at_;
    digits();
    if (look() == '.' && is_digit(look(1))) {
      advance();
      digits();
    }
    size_t sign = look(1) == '+' || look(1) == '-' ? 1 : 0;
    if ((look() == 'e' || look() == 'E') && is_digit(look(1 + sign))) {
      for (size_t i = 0; i <= sign; ++i) advance();
      digits();
    }
    emit(TokenKind::kNumber, text_.substr(from, at_ - from));
  }

  void string() {
    std::string out;
    for (advance(); look() != '"'; advance()) {
      if (look() == '\\' && at_ + 1 < end_) advance();
      if (at_ >= end_) fail("this string has no end");
      out += look();
    }
    advance();
    emit(TokenKind::kString, std::move(out));
  }

  void punctuation() {
    char c = look();
    bool sparse = c == '<' && !tokens_.empty() && tokens_.back().is("row_sparse");
    bool division = at_division();
    for (std::string_view two : {"->", "<=", "//"}) {
      if (c != two[0] || look(1) != two[1] || (two == "//" && !division)) continue;
      advance();
      advance();
      return emit(TokenKind::kPunct, std::string(two));
    }
    if (std::string_view("()[]{},:=<>+-*/^!?").find(c) == std::string_view::npos) {
      bool plain = c >= ' ' && c <= '~';
      fail(plain ? std::string("unexpected character `") + c + "`" : "unexpected character");
    }
    // `row_sparse<` opens a bracket for the sake of `//`.
    if (c == '[' || sparse) ++brackets_;
    if ((c == ']' || (c == '>' && in_sparse_)) && brackets_ > 0) --brackets_;
    if (sparse || c == '>') in_sparse_ = sparse;
    advance();
    emit(TokenKind::kPunct, std::string(1, c));
  }

  std::shared_ptr<const SourceText> source_;
  const std::string& text_;
  size_t end_, at_ = 0;
  int line_ = 1, column_ = 1;
  int brackets_ = 0;
  bool in_sparse_ = false;
  Token token_;
  std::vector<Token> tokens_;
};

}  // namespace

std::string Token::str() const {
  switch (kind) {
    case TokenKind::kEnd:
      return "end of text";
    case TokenKind::kValue:
      return "`%" + text + "`";
    case TokenKind::kFunction:
      return "`@" + text + "`";
    case TokenKind::kString:
      return "\"" + text + "\"";
    default:
      return "`" + text + "`";
  }
}

Tokens::Tokens(std::shared_ptr<const SourceText> source, size_t begin, size_t end)
    : source_(source), tokens_(Lexer(std::move(source), begin, end).run()) {}

const Token& Tokens::peek(size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

const Token& Tokens::next() {
  const Token& token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool Tokens::accept(std::string_view punct_or_word) {
  if (!at(punct_or_word)) return false;
  next();
  return true;
}

const Token& Tokens::expect(std::string_view punct_or_word) {
  if (!at(punct_or_word)) unexpected(fmt::format("`{}`", punct_or_word));
  return next();
}

const Token& Tokens::expect(TokenKind kind, std::string_view what) {
  if (!at(kind)) unexpected(what);
  return next();
}

void Tokens::skip_braces() {
  const Token& open = expect("{");
  for (int depth = 1; depth > 0;) {
    const Token& token = next();
    if (token.kind == TokenKind::kEnd) compile_error(loc(open), "this `{{` is never closed");
    depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
  }
}

void Tokens::unexpected(std::string_view expected) const {
  compile_error(loc(), "expected {}, got {}", expected, peek().str());
}

}  // namespace tapeless
