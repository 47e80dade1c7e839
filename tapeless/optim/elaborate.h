#pragma once

#include <map>
#include <string>
#include <vector>

#include "tapeless/ir/builder.h"
#include "tapeless/optim/instantiate.h"

namespace tapeless::optim {

/// The value of an expression while an optimizer is instantiated.
struct Term {
  enum class Kind : uint8_t { kNumber, kWord, kHyper, kTensor };
  Kind kind = Kind::kNumber;
  double number = 0;
  std::string word;
  Value* value = nullptr;  // f64[] where kHyper

  static Term constant(double number);
  static Term of_word(std::string word);
  static Term hyper(Value* value);
  static Term of(Value* value);
};

class Elaborator;

/// What names mean.
class Names {
 public:
  Names(const OptimizerDef& def, const Type& weight, const Settings& settings)
      : def(def), weight(weight), settings_(settings) {}

  const OptimizerDef& def;
  const Type& weight;
  std::map<std::string, Term> locals;

  void bind(const std::string& word, Term term) { words_[word] = std::move(term); }
  /// Options: settings, else defaults.
  void resolve_options(Elaborator& e);
  /// The value that a hyper starts with.
  double initial(const std::string& hyper, const Loc& loc) const;
  /// A bare word; `deciding`: hypers are their initial values. A CompileError where unknown.
  Term word(const Expr& expr, bool deciding) const;
  Term local(const Expr& expr) const;
  /// The constant size `w[i]`.
  double weight_dim(double axis, const Loc& loc) const;

 private:
  const Settings& settings_;
  std::map<std::string, Term> words_;
};

/// Expressions to terms; ops are appended through the builder.
class Elaborator {
 public:
  Elaborator(Builder& builder, Names& names) : b_(builder), names_(names) {}

  /// All results of an expression: several where it is an op of several results.
  std::vector<Term> all(const Expr& expr);
  Term one(const Expr& expr);
  /// Conditions and counts: known now, hypers at their initial values.
  bool decide(const Expr& expr);
  double decide_number(const Expr& expr);
  Shape shape(const std::vector<SizeItem>& items);
  /// The term as a tensor; a number or a hyper in `dtype`.
  Value* as_tensor(const Term& term, DType dtype);
  /// Where the op that made the value stands, else `fallback`.
  Loc loc_of(const Value* value, const Loc& fallback) const;

 private:
  Term decided(const Expr& expr);
  std::vector<Term> call(const Expr& expr);
  std::vector<Term> op(const Expr& expr, const std::vector<Term>& args);
  Term expand_dims(const Expr& expr, const std::vector<Term>& args);
  AttrMap attributes(const Expr& expr, const OpDef& def, const std::vector<Term>& args);
  Attr attribute(const AttrSyntax& syntax, AttrKind want, int rank);
  Ints axes(const AttrSyntax& syntax, int rank);

  Builder& b_;
  Names& names_;
  bool deciding_ = false;
};

/// Drops ops that nobody needs.
void remove_dead(Function& f);

}  // namespace tapeless::optim
