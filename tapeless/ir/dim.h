#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tapeless {

class Dim;
using Shape = std::vector<Dim>;
/// Values of symbols, by name.
using SymbolValues = std::map<std::string, int64_t>;

/// The size of a dimension: a polynomial with integer coefficients over atoms, kept in normal form.
/// An atom is a symbol or a floor-division of such a polynomial by a positive number. Two sizes are
/// equal when their normal forms are; otherwise equality is a question for run time.
class Dim {
 public:
  Dim() = default;
  Dim(int64_t value);  // NOLINT: numbers are sizes
  static Dim symbol(std::string name);

  bool is_constant() const {
    return terms_.empty() || (terms_.size() == 1 && terms_[0].atoms.empty());
  }
  bool is(int64_t value) const { return is_constant() && constant() == value; }
  /// The number; checked to be constant.
  int64_t constant() const;
  /// The name where this is a lone symbol.
  std::optional<std::string> as_symbol() const;

  int64_t eval(const SymbolValues& values) const;
  Dim substitute(const std::map<std::string, Dim>& with) const;
  /// Whether some sizes of 0 or more of the symbols could make it negative: false is sure.
  bool may_be_negative() const;
  void collect_symbols(std::set<std::string>& into) const;
  /// Evaluates in another algebra: numbers, symbols, and the three operations it has.
  template <class T>
  T fold(const std::function<T(int64_t)>& number,
         const std::function<T(const std::string&)>& symbol,
         const std::function<T(T, int64_t)>& floor_div) const {
    T sum = number(0);
    for (const Term& term : terms_) {
      T value = number(term.coefficient);
      for (const Atom& atom : term.atoms)
        value = value *
                (atom.numerator
                     ? floor_div(atom.numerator->fold<T>(number, symbol, floor_div), atom.divisor)
                     : symbol(atom.key));
      sum = sum + value;
    }
    return sum;
  }

  /// `2*B*S + 1`, `(B + 15)//16`.
  std::string str() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend Dim floordiv(const Dim& a, int64_t divisor);
  friend std::optional<Dim> divide_exact(const Dim& a, const Dim& b);

 private:
  struct Atom {
    std::string key;                       // the symbol's name or the printed division
    std::shared_ptr<const Dim> numerator;  // null for a symbol
    int64_t divisor = 1;
    friend bool operator==(const Atom& a, const Atom& b) { return a.key == b.key; }
    friend auto operator<=>(const Atom& a, const Atom& b) { return a.key <=> b.key; }
  };
  struct Term {
    int64_t coefficient = 0;
    std::vector<Atom> atoms;  // sorted, repeated for powers
  };
  static Dim from_terms(std::vector<Term> terms);

  std::vector<Term> terms_;  // sorted by atoms (constant last), no zero coefficient
};

/// floor(a / divisor), divisor > 0; exact parts leave the division.
Dim floordiv(const Dim& a, int64_t divisor);
Dim ceildiv(const Dim& a, int64_t divisor);
/// a / b where it is exact for every value of the symbols, by a number or a single term.
std::optional<Dim> divide_exact(const Dim& a, const Dim& b);

/// The symbol that `pattern = value` settles: the only one of `pattern` without an entry in
/// `known`, where the pattern is a number times it plus the rest and the value allows it. `B + 1 =
/// 9` gives B = 8.
std::optional<std::pair<std::string, Dim>> solve(const Dim& pattern, const Dim& value,
                                                 const std::map<std::string, Dim>& known);

Dim numel(std::span<const Dim> shape);
/// `[B, 784]`.
std::string shape_str(std::span<const Dim> shape);
std::vector<int64_t> eval_shape(std::span<const Dim> shape, const SymbolValues& values);

}  // namespace tapeless
