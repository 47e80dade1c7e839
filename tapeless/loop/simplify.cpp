// Simplification by ranges: a walk that knows an interval for each i64 variable in scope, rebuilds
// every expression bottom up, and decides divisions and comparisons by the intervals of operands.
#include "tapeless/loop/simplify.h"

#include <algorithm>
#include <unordered_map>

namespace tapeless::loop {
namespace {

// -kFar as a lower and kFar as an upper bound mean "unknown"; known bounds lie strictly between, so
// that interval arithmetic never overflows and strict comparisons need no special case.
constexpr int64_t kFar = int64_t{1} << 31;

struct Range {
  int64_t low = -kFar, high = kFar;
  bool known() const { return low > -kFar && high < kFar; }
};

Range clip(int64_t low, int64_t high) {
  return {std::clamp(low, -kFar, kFar - 1), std::clamp(high, -kFar + 1, kFar)};
}

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

Range product(const Range& a, const Range& b) {
  if (a.known() && b.known()) {
    const auto [low, high] =
        std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    return clip(low, high);
  }
  return {a.low >= 0 && b.low >= 0 ? 0 : -kFar, kFar};
}

class Simplifier {
 public:
  Stmt stmt(const Stmt& s);

 private:
  Expr expr(const Expr& e);
  Range range(const Expr& e) const;
  Range prim_range(const ExprNode& n) const;
  Expr decide(const Expr& e) const;
  Stmt loop(const StmtNode& n);
  // A variable may be bound by several loops, one after the other.
  void forget(const Expr& var) {
    if (ranges_.erase(var.get()) + replaced_.erase(var.get()) > 0) done_.clear();
  }

  std::unordered_map<const ExprNode*, Range> ranges_;
  std::unordered_map<const ExprNode*, Expr> replaced_;
  std::unordered_map<const ExprNode*, Expr> done_;
};

Range Simplifier::range(const Expr& e) const {
  if (const auto c = as_int(e)) return clip(*c, *c);
  if (e->type != Type{Elem::kI64}) return {};
  if (e->kind == ExprKind::kPrim) return prim_range(*e);
  if (e->kind != ExprKind::kVar) return {};
  const auto it = ranges_.find(e.get());
  return it == ranges_.end() ? Range{0, kFar} : it->second;  // not bound here: a size or the task
}

Range Simplifier::prim_range(const ExprNode& n) const {
  if (n.args.size() != 2) return {};
  const Range a = range(n.args[0]), b = range(n.args[1]);
  const int64_t divisor = as_int(n.args[1]).value_or(0);
  auto low = [](int64_t bound, int64_t value) { return bound <= -kFar ? -kFar : value; };
  auto high = [](int64_t bound, int64_t value) { return bound >= kFar ? kFar : value; };
  switch (n.op) {
    case Prim::kAdd:
      return clip(low(std::min(a.low, b.low), a.low + b.low),
                  high(std::max(a.high, b.high), a.high + b.high));
    case Prim::kSub:
      if (a.known() && b.known()) return clip(a.low - b.high, a.high - b.low);
      return {};
    case Prim::kMul:
      return product(a, b);
    case Prim::kFloorDiv:
      if (divisor <= 0) return {};
      return clip(low(a.low, floor_div(a.low, divisor)), high(a.high, floor_div(a.high, divisor)));
    case Prim::kFloorMod:
      if (divisor <= 0) return {};
      return clip(0, a.low >= 0 ? std::min(a.high, divisor - 1) : divisor - 1);
    case Prim::kMin:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Prim::kMax:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    default:
      return {};
  }
}

// What the ranges of the operands tell of an i64 division, comparison, minimum or maximum.
Expr Simplifier::decide(const Expr& e) const {
  if (e->kind != ExprKind::kPrim || e->args.size() != 2) return e;
  const Expr &x = e->args[0], &y = e->args[1];
  if (x->type != Type{Elem::kI64}) return e;
  const Range a = range(x), b = range(y);
  const bool below = a.high<b.low, above = a.low> b.high;
  const bool not_above = a.high <= b.low, not_below = a.low >= b.high;
  switch (e->op) {
    case Prim::kFloorDiv:
    case Prim::kFloorMod: {
      const int64_t c = as_int(y).value_or(0);
      if (c <= 0 || !a.known() || floor_div(a.low, c) != floor_div(a.high, c)) return e;
      const int64_t q = floor_div(a.low, c);
      return e->op == Prim::kFloorDiv ? i64(q) : x - i64(q * c);
    }
    case Prim::kMin:
      return not_above ? x : not_below ? y : e;
    case Prim::kMax:
      return not_above ? y : not_below ? x : e;
    case Prim::kLt:
      return below ? boolean(true) : not_below ? boolean(false) : e;
    case Prim::kLe:
      return not_above ? boolean(true) : above ? boolean(false) : e;
    case Prim::kGt:
      return above ? boolean(true) : not_above ? boolean(false) : e;
    case Prim::kGe:
      return not_below ? boolean(true) : below ? boolean(false) : e;
    case Prim::kEq:
      return below || above ? boolean(false) : e;
    case Prim::kNe:
      return below || above ? boolean(true) : e;
    default:
      return e;
  }
}

Expr Simplifier::expr(const Expr& e) {
  if (e->args.empty()) {
    const auto it = replaced_.find(e.get());
    return it == replaced_.end() ? e : it->second;
  }
  if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
  std::vector<Expr> args;
  bool same = true;
  for (const Expr& a : e->args) {
    args.push_back(expr(a));
    same &= args.back().get() == a.get();
  }
  Expr result = decide(same ? e : with_args(e, std::move(args)));
  done_.emplace(e.get(), result);
  return result;
}

Stmt Simplifier::loop(const StmtNode& n) {
  const Expr begin = expr(n.args[0]), end = expr(n.args[1]), step = expr(n.args[2]);
  forget(n.var);
  const auto from = as_int(begin), to = as_int(end), by = as_int(step);
  if (from && to && *from >= *to) return block({});
  if (from && to && by && *from + *by >= *to) {
    replaced_[n.var.get()] = begin;
    return stmt(n.body[0]);
  }
  const Range a = range(begin), b = range(end);
  ranges_[n.var.get()] = {a.low, b.high >= kFar ? kFar : b.high - 1};
  return for_loop(n.var, begin, end, step, stmt(n.body[0]), n.for_kind);
}

Stmt Simplifier::stmt(const Stmt& s) {
  const StmtNode& n = *s;
  if (n.kind == StmtKind::kFor) return loop(n);
  StmtNode result = n;
  for (Expr& a : result.args) a = expr(a);
  if (n.kind == StmtKind::kLet) {
    forget(n.var);
    if (as_int(result.args[0]) || result.args[0]->kind == ExprKind::kVar) {
      replaced_[n.var.get()] = result.args[0];
      return stmt(n.body[0]);
    }
    ranges_[n.var.get()] = range(result.args[0]);
  }
  if (n.kind == StmtKind::kIf) {
    if (const auto c = as_int(result.args[0])) {
      const size_t taken = *c ? 0 : 1;
      return taken < n.body.size() ? stmt(n.body[taken]) : block({});
    }
  }
  for (Stmt& child : result.body) child = stmt(child);
  return Stmt(std::make_shared<const StmtNode>(std::move(result)));
}

}  // namespace

Stmt simplify(const Stmt& stmt) { return Simplifier().stmt(stmt); }

}  // namespace tapeless::loop
