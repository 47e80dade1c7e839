#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tapeless/ir/builder.h"
#include "tapeless/text/lexer.h"

namespace tapeless {

/// The symbols that sizes may use, and what each stands for (itself, in a function).
struct Symbols {
  std::map<std::string, Dim> known;
  /// In parameters a symbol is declared by its use.
  bool open = false;
  /// Where `B<=256` goes; null where bounds may not be given.
  std::map<std::string, int64_t>* bounds = nullptr;
};

/// Sizes, types and attributes.
class TypeParser {
 public:
  TypeParser(Tokens& tokens, Symbols& symbols) : t_(tokens), symbols_(symbols) {}
  virtual ~TypeParser() = default;

  /// `2*B*S + 1`, `(B + 15)//16`.
  Dim dim();
  /// The same, or `B<=256`.
  Dim bounded_dim();
  /// `[B, 784]`.
  Shape shape();
  /// `f32[B, 784]`, `key`, `row_sparse<T> f32[N, 16]`.
  Type type();
  /// The value of an attribute; `want` (where known) settles what a bare word means.
  Attr attr(std::optional<AttrKind> want);
  /// `{k = v, ...}`; kinds from `def` where it is given.
  AttrMap attrs(const OpDef* def);
  /// `-1`, `0.5`, `inf`, as a double or, where it has no point and no exponent, as an integer.
  Attr number();
  bool at_number() const;
  /// `B <= 256`: a whole number.
  int64_t integer();

 protected:
  /// One size that is no sum: a number, a symbol or a parenthesis. Others may add to it.
  virtual Dim dim_atom();

  Tokens& t_;
  Symbols& symbols_;

 private:
  Dim product();
  Attr list();
  Attr word_attr(std::optional<AttrKind> want);
  Tensor scalar_tensor(DType dtype);
  Tensor dense_tensor();
  void element(Tensor& tensor, int64_t i);

  int depth_ = 0;
};

/// Statements: ops on named values, appended through a Builder. optim/ derives from it.
class BodyParser : public TypeParser {
 public:
  using Values = std::map<std::string, Value*>;

  BodyParser(Tokens& tokens, Symbols& symbols, Builder& builder, Values values)
      : TypeParser(tokens, symbols), b_(builder), values_(std::move(values)) {}

  /// `{ op... return %a, %b }`: appends the ops, returns what is returned; the braces included.
  /// Without `return` the list is empty. `return_loc` is then where it ends.
  std::vector<Value*> block();
  const Loc& return_loc() const { return return_loc_; }

  /// `name @callee %x, 2.0 {k = v}`: an op without the names of its results.
  Op* op();
  void define(const Token& name, Value* value);
  Value* lookup(const Token& name) const;

 protected:
  /// A number waits for its dtype: that of the first tensor operand.
  struct Operand {
    Value* value = nullptr;
    Attr number;
    Loc loc;
  };
  virtual bool at_operand() const;
  virtual Operand operand();
  /// One statement that is not `return`: `%a, %b = op` or an op without results.
  virtual void statement();

  Builder& b_;
  Values values_;

 private:
  std::vector<Value*> returned();
  std::vector<Value*> operands();
  Value* literal(const Operand& operand, DType dtype);
  void report_unknown(const Token& name) const;

  Loc return_loc_;
};

}  // namespace tapeless
