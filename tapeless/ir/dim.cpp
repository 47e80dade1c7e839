// Symbolic sizes in normal form: sums of products of atoms, with floor-division by numbers.
#include "tapeless/ir/dim.h"

#include <algorithm>

#include "tapeless/support/check.h"
#include "tapeless/support/diagnostics.h"

namespace tapeless {

namespace {

[[noreturn]] void too_big(int64_t a, char op, int64_t b) {
  compile_error({}, "a size does not fit into 64 bits: {} {} {}", a, op, b);
}

int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) too_big(a, '+', b);
  return sum;
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) too_big(a, '*', b);
  return product;
}

}  // namespace

Dim::Dim(int64_t value) {
  if (value != 0) terms_.push_back({value, {}});
}

Dim Dim::symbol(std::string name) {
  Dim d;
  d.terms_.push_back({1, {Atom{std::move(name), nullptr, 1}}});
  return d;
}

Dim Dim::from_terms(std::vector<Term> terms) {
  // More atoms first, so that numbers print last; then by name.
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size();
    return a.atoms < b.atoms;
  });
  Dim out;
  for (Term& term : terms) {
    if (!out.terms_.empty() && out.terms_.back().atoms == term.atoms)
      out.terms_.back().coefficient = checked_add(out.terms_.back().coefficient, term.coefficient);
    else
      out.terms_.push_back(std::move(term));
    if (out.terms_.back().coefficient == 0) out.terms_.pop_back();
  }
  return out;
}

int64_t Dim::constant() const {
  TL_CHECK(is_constant(), "size {} is not a number", str());
  return terms_.empty() ? 0 : terms_[0].coefficient;
}

std::optional<std::string> Dim::as_symbol() const {
  if (terms_.size() != 1 || terms_[0].coefficient != 1 || terms_[0].atoms.size() != 1 ||
      terms_[0].atoms[0].numerator != nullptr)
    return std::nullopt;
  return terms_[0].atoms[0].key;
}

bool Dim::may_be_negative() const {
  return std::any_of(terms_.begin(), terms_.end(), [](const Term& term) {
    return term.coefficient < 0 || std::any_of(
                                       term.atoms.begin(), term.atoms.end(),
                                       [](const Atom& atom) {
                                         return atom.numerator && atom.numerator->may_be_negative();
                                       });
  });
}

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

}  // namespace

int64_t Dim::eval(const SymbolValues& values) const {
  int64_t sum = 0;
  for (const Term& term : terms_) {
    int64_t value = term.coefficient;
    for (const Atom& atom : term.atoms) {
      if (atom.numerator) {
        value *= floor_div(atom.numerator->eval(values), atom.divisor);
        continue;
      }
      auto found = values.find(atom.key);
      TL_CHECK(found != values.end(), "symbol {} has no value", atom.key);
      value *= found->second;
    }
    sum += value;
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim>& with) const {
  Dim sum;
  for (const Term& term : terms_) {
    Dim value = term.coefficient;
    for (const Atom& atom : term.atoms) {
      if (atom.numerator) {
        value = value * floordiv(atom.numerator->substitute(with), atom.divisor);
      } else {
        auto found = with.find(atom.key);
        value = value * (found == with.end() ? symbol(atom.key) : found->second);
      }
    }
    sum = sum + value;
  }
  return sum;
}

void Dim::collect_symbols(std::set<std::string>& into) const {
  for (const Term& term : terms_)
    for (const Atom& atom : term.atoms)
      atom.numerator ? atom.numerator->collect_symbols(into) : (void)into.insert(atom.key);
}

std::string Dim::str() const {
  if (terms_.empty()) return "0";
  std::string out;
  for (const Term& term : terms_) {
    int64_t c = term.coefficient;
    if (!out.empty()) {
      out += c < 0 ? " - " : " + ";
      c = c < 0 ? -c : c;
    }
    std::string product;
    for (const Atom& atom : term.atoms) product += (product.empty() ? "" : "*") + atom.key;
    if (product.empty())
      out += std::to_string(c);
    else if (c == 1)
      out += product;
    else
      out += std::to_string(c) + "*" + product;
  }
  return out;
}

Dim operator+(const Dim& a, const Dim& b) {
  std::vector<Dim::Term> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return Dim::from_terms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  std::vector<Dim::Term> terms;
  for (const Dim::Term& x : a.terms_)
    for (const Dim::Term& y : b.terms_) {
      Dim::Term term{checked_mul(x.coefficient, y.coefficient), x.atoms};
      term.atoms.insert(term.atoms.end(), y.atoms.begin(), y.atoms.end());
      std::sort(term.atoms.begin(), term.atoms.end());
      terms.push_back(std::move(term));
    }
  return Dim::from_terms(std::move(terms));
}

bool operator==(const Dim& a, const Dim& b) {
  return std::equal(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end(),
                    [](const Dim::Term& x, const Dim::Term& y) {
                      return x.coefficient == y.coefficient && x.atoms == y.atoms;
                    });
}

Dim floordiv(const Dim& a, int64_t divisor) {
  TL_CHECK(divisor > 0, "division of size {} by {}", a.str(), divisor);
  // a = divisor * whole + rest, so floor(a / divisor) = whole + floor(rest / divisor).
  std::vector<Dim::Term> whole, rest;
  for (const Dim::Term& term : a.terms_) {
    int64_t quotient = floor_div(term.coefficient, divisor);
    int64_t remainder = term.coefficient - quotient * divisor;
    if (quotient != 0) whole.push_back({quotient, term.atoms});
    if (remainder != 0) rest.push_back({remainder, term.atoms});
  }
  Dim out = Dim::from_terms(std::move(whole));
  Dim left = Dim::from_terms(std::move(rest));
  if (left.is_constant()) return out + Dim(floor_div(left.constant(), divisor));
  bool lone = left.as_symbol().has_value();
  std::string key = (lone ? left.str() : "(" + left.str() + ")") + "//" + std::to_string(divisor);
  Dim atom;
  atom.terms_.push_back(
      {1, {Dim::Atom{"(" + key + ")", std::make_shared<const Dim>(std::move(left)), divisor}}});
  return out + atom;
}

Dim ceildiv(const Dim& a, int64_t divisor) { return floordiv(a + Dim(divisor - 1), divisor); }

std::optional<Dim> divide_exact(const Dim& a, const Dim& b) {
  if (b.terms_.size() != 1) {
    if (a == b && !b.terms_.empty()) return Dim(1);
    return std::nullopt;
  }
  const Dim::Term& by = b.terms_[0];
  std::vector<Dim::Term> terms;
  for (const Dim::Term& term : a.terms_) {
    if (term.coefficient % by.coefficient != 0) return std::nullopt;
    Dim::Term quotient{term.coefficient / by.coefficient, term.atoms};
    for (const Dim::Atom& atom : by.atoms) {
      auto found = std::find(quotient.atoms.begin(), quotient.atoms.end(), atom);
      if (found == quotient.atoms.end()) return std::nullopt;
      quotient.atoms.erase(found);
    }
    terms.push_back(std::move(quotient));
  }
  return Dim::from_terms(std::move(terms));
}

std::optional<std::pair<std::string, Dim>> solve(const Dim& pattern, const Dim& value,
                                                 const std::map<std::string, Dim>& known) {
  std::set<std::string> symbols;
  pattern.collect_symbols(symbols);
  std::erase_if(symbols, [&](const std::string& s) { return known.count(s) > 0; });
  if (symbols.size() != 1) return std::nullopt;
  const std::string& symbol = *symbols.begin();
  Dim rest = pattern.substitute({{symbol, Dim(0)}});
  Dim slope = pattern.substitute({{symbol, Dim(1)}}) - rest;
  if (!slope.is_constant() || slope.is(0) || !(slope * Dim::symbol(symbol) + rest == pattern))
    return std::nullopt;
  auto solution = divide_exact(value - rest.substitute(known), slope);
  if (!solution) return std::nullopt;
  return std::pair(symbol, *solution);
}

Dim numel(std::span<const Dim> shape) {
  Dim all = 1;
  for (const Dim& d : shape) all = all * d;
  return all;
}

std::string shape_str(std::span<const Dim> shape) {
  std::string out = "[";
  for (const Dim& d : shape) out += (out.size() > 1 ? ", " : "") + d.str();
  return out + "]";
}

std::vector<int64_t> eval_shape(std::span<const Dim> shape, const SymbolValues& values) {
  std::vector<int64_t> out;
  for (const Dim& d : shape) out.push_back(d.eval(values));
  return out;
}

}  // namespace tapeless
