// Sums of products: index expressions multiplied out, and sorted by what they depend on.
#include "tapeless/lower/affine.h"

#include <unordered_map>
#include <vector>

namespace tapeless::lowering {

using loop::Expr;
using loop::ExprKind;
using loop::Prim;

namespace {

using Product = std::vector<Expr>;  // factors; empty is 1
struct Term {
  int64_t coefficient;
  Product factors;
};
using Sum = std::vector<Term>;

bool is_prim(const Expr& e, Prim op) { return e->kind == ExprKind::kPrim && e->op == op; }

Sum expand(const Expr& e) {
  if (auto n = loop::as_int(e)) return *n == 0 ? Sum{} : Sum{{*n, {}}};
  if (is_prim(e, Prim::kNeg)) {
    Sum x = expand(e->args[0]);
    for (Term& t : x) t.coefficient = -t.coefficient;
    return x;
  }
  if (is_prim(e, Prim::kAdd) || is_prim(e, Prim::kSub)) {
    Sum x = expand(e->args[0]), y = expand(e->args[1]);
    for (Term& t : y) {
      if (e->op == Prim::kSub) t.coefficient = -t.coefficient;
      x.push_back(std::move(t));
    }
    return x;
  }
  if (is_prim(e, Prim::kMul)) {
    Sum out;
    for (const Term& a : expand(e->args[0]))
      for (const Term& b : expand(e->args[1])) {
        Term t{a.coefficient * b.coefficient, a.factors};
        t.factors.insert(t.factors.end(), b.factors.begin(), b.factors.end());
        out.push_back(std::move(t));
      }
    return out;
  }
  return {{1, {e}}};
}

Expr build(const Sum& sum) {
  Expr all = loop::i64(0);
  for (const Term& t : sum) {
    Expr product = loop::i64(t.coefficient);
    for (const Expr& f : t.factors) product = product * f;
    all = all + product;
  }
  return all;
}

class Grouping {
 public:
  explicit Grouping(const Expr& var) : var_(var) {}

  Expr rewrite(const Expr& e) {
    if (auto found = done_.find(e.get()); found != done_.end()) return found->second;
    Expr out = e;
    if (e->kind == ExprKind::kLoad && e->args.size() == 1) {
      out = loop::load(e->buffer, split(e->args[0]));
    } else if (e->kind == ExprKind::kLoad) {
      out = loop::load(e->buffer, split(e->args[0]), e->args[1]);
    } else if (e->kind == ExprKind::kPrim) {
      std::vector<Expr> args;
      for (const Expr& a : e->args) args.push_back(rewrite(a));
      out = loop::prim(e->op, std::move(args));
    } else if (e->kind == ExprKind::kCast) {
      out = loop::cast(e->type.elem, rewrite(e->args[0]));
    }
    return done_[e.get()] = out;
  }

 private:
  Expr split(const Expr& index) const {
    if (!depends_on(index, var_)) return index;
    Sum fixed, varying;
    for (Term& t : expand(index)) {
      bool varies = false;
      for (const Expr& f : t.factors) varies = varies || depends_on(f, var_);
      (varies ? varying : fixed).push_back(std::move(t));
    }
    return build(fixed) + build(varying);
  }

  Expr var_;
  std::unordered_map<const loop::ExprNode*, Expr> done_;
};

}  // namespace

bool depends_on(const Expr& e, const Expr& var) {
  if (e.get() == var.get()) return true;
  for (const Expr& a : e->args)
    if (depends_on(a, var)) return true;
  return false;
}

bool affine_in(const Expr& e, const Expr& var) {
  for (const Term& t : expand(e)) {
    int uses = 0;
    for (const Expr& f : t.factors) {
      if (f.get() == var.get())
        ++uses;
      else if (depends_on(f, var))
        return false;
    }
    if (uses > 1) return false;
  }
  return true;
}

bool contiguous_in(const Expr& e, const Expr& var) {
  if (e->kind == ExprKind::kLoad) {
    if (!affine_in(e->args[0], var)) return false;
    int64_t step = 0;
    for (const Term& t : expand(e->args[0])) {
      if (t.factors.size() == 1 && t.factors[0].get() == var.get())
        step += t.coefficient;
      else
        for (const Expr& f : t.factors)
          if (f.get() == var.get()) return false;
    }
    return step == 0 || step == 1;
  }
  for (const Expr& a : e->args)
    if (!contiguous_in(a, var)) return false;
  return true;
}

Expr group_by(const Expr& e, const Expr& var) { return Grouping(var).rewrite(e); }

}  // namespace tapeless::lowering
