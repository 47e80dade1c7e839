// Vectorisation by substitution: the body is rebuilt with the loop variable replaced by a ramp. The
// expression constructors do the rest, since they keep uniform values scalar and affine ones ramps.
#include "tapeless/loop/vectorize.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "tapeless/support/check.h"

namespace tapeless::loop {
namespace {

// A local of the outside into which the loop accumulates.
struct Accumulator {
  Prim op;
  Local lanes;  // its partial results
};

using Accumulators = std::map<const LocalDecl*, Accumulator>;

bool is_reduction(Prim op) {
  return op == Prim::kAdd || op == Prim::kMul || op == Prim::kMin || op == Prim::kMax ||
         op == Prim::kAnd || op == Prim::kOr || op == Prim::kXor;
}

bool same_index(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return true;
  const auto x = as_int(a), y = as_int(b);
  return x && y && *x == *y;
}

bool reads(const Expr& e, const LocalDecl* local) {
  if (e->kind == ExprKind::kLoadLocal && e->local.get() == local) return true;
  for (const Expr& a : e->args) {
    if (reads(a, local)) return true;
  }
  return false;
}

// The op of `local[j] = op(local[j], x)`, if this store is of that form.
std::optional<Prim> accumulation(const StmtNode& n) {
  const Expr& value = n.args[1];
  if (value->kind != ExprKind::kPrim) return std::nullopt;
  const bool fused = value->op == Prim::kFma;
  if (!fused && !is_reduction(value->op)) return std::nullopt;
  int own = 0, foreign = 0;
  for (size_t i = 0; i < value->args.size(); ++i) {
    const Expr& a = value->args[i];
    const bool is_own = a->kind == ExprKind::kLoadLocal && a->local == n.local &&
                        same_index(a->args[0], n.args[0]) && (!fused || i == 2);
    own += is_own;
    foreign += !is_own && reads(a, n.local.get());
  }
  if (own != 1 || foreign != 0) return std::nullopt;
  return fused ? Prim::kAdd : value->op;
}

// Finds the accumulators of a body; false if an outside local is used in another way.
class Scan {
 public:
  explicit Scan(int lanes) : lanes_(lanes) {}
  bool run(const Stmt& body) {
    stmt(body);
    for (const Local& l : outer_) ok_ &= !read_.contains(l.get());
    return ok_;
  }
  const Accumulators& accumulators() const { return found_; }
  const std::vector<Local>& outer() const { return outer_; }

 private:
  void stmt(const Stmt& s) {
    if (s->kind == StmtKind::kLocal) inner_.push_back(s->local.get());
    if (s->kind == StmtKind::kStoreLocal && !is_inner(s->local.get())) {
      store(*s);
    } else {
      for (const Expr& e : s->args) collect(e);
    }
    for (const Stmt& child : s->body) stmt(child);
  }

  // Locals that are read otherwise than by their own accumulation.
  void collect(const Expr& e) {
    if (!seen_.insert(e.get()).second) return;
    if (e->kind == ExprKind::kLoadLocal) read_.insert(e->local.get());
    for (const Expr& a : e->args) collect(a);
  }

  void store(const StmtNode& n) {
    const auto op = accumulation(n);
    if (!op || n.local->type.lanes != 1) {
      ok_ = false;
      return;
    }
    for (const Expr& a : n.args[1]->args) {
      if (a->kind != ExprKind::kLoadLocal || a->local != n.local) collect(a);
    }
    const Type type = n.local->type.with_lanes(lanes_);
    const auto [it, inserted] = found_.try_emplace(
        n.local.get(), Accumulator{*op, local(n.local->name + "_lanes", type, n.local->count)});
    if (inserted) outer_.push_back(n.local);
    ok_ &= it->second.op == *op;
  }

  bool is_inner(const LocalDecl* l) const {
    return std::find(inner_.begin(), inner_.end(), l) != inner_.end();
  }

  int lanes_;
  bool ok_ = true;
  std::vector<const LocalDecl*> inner_;
  Accumulators found_;
  std::vector<Local> outer_;  // keys of found_ in the order they were met
  std::set<const LocalDecl*> read_;
  std::set<const ExprNode*> seen_;
};

class Substitution {
 public:
  Substitution(const Expr& var, Expr lanes_of_var, Expr mask, const Accumulators& accumulators)
      : lanes_(lanes_of_var->type.lanes), mask_(std::move(mask)), accumulators_(accumulators) {
    vars_[var.get()] = std::move(lanes_of_var);
  }

  Stmt stmt(const Stmt& s);
  bool ok() const { return ok_; }

 private:
  Expr expr(const Expr& e);
  Expr rebuild(const Expr& e);
  Expr load_of(const ExprNode& n);
  Expr mask_of(const std::vector<Expr>& args, size_t at);
  Stmt store_of(const StmtNode& n);
  Stmt store_local_of(const StmtNode& n);
  Stmt let_of(const StmtNode& n);
  Stmt if_of(const StmtNode& n);
  Stmt under(const Expr& condition, const Stmt& s);
  // A variable may be bound by several loops, one after the other.
  void rebind(const Expr& var, Expr value) {
    if (vars_.erase(var.get()) > 0) done_.clear();
    vars_[var.get()] = std::move(value);
  }
  Expr uniform(const Expr& e) {
    Expr value = expr(e);
    if (value->kind == ExprKind::kBroadcast) return value->args[0];
    ok_ &= value->type.lanes == 1;
    return value;
  }
  Local local_of(const Local& l) const {
    if (const auto it = locals_.find(l.get()); it != locals_.end()) return it->second;
    const auto it = accumulators_.find(l.get());
    return it != accumulators_.end() ? it->second.lanes : l;
  }

  int lanes_;
  Expr mask_;             // null: all lanes
  bool guarded_ = false;  // inside a condition that varies
  bool ok_ = true;
  const Accumulators& accumulators_;
  std::unordered_map<const ExprNode*, Expr> vars_;
  std::unordered_map<const ExprNode*, Expr> done_;  // under the mask at hand
  std::map<const LocalDecl*, Local> locals_;
};

Expr Substitution::expr(const Expr& e) {
  if (e->kind == ExprKind::kConst) return e;
  if (e->kind == ExprKind::kVar) {
    const auto it = vars_.find(e.get());
    return it == vars_.end() ? e : it->second;
  }
  if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
  Expr result = rebuild(e);
  done_.emplace(e.get(), result);
  return result;
}

Expr Substitution::rebuild(const Expr& e) {
  const ExprNode& n = *e;
  if (n.type.lanes != 1) {  // already a vector: only legal where nothing in it varies
    ok_ = false;
    return e;
  }
  switch (n.kind) {
    case ExprKind::kPrim: {
      std::vector<Expr> args;
      for (const Expr& a : n.args) args.push_back(expr(a));
      return prim(n.op, std::move(args));
    }
    case ExprKind::kCast:
      return cast(n.type.elem, expr(n.args[0]));
    case ExprKind::kBitcast:
      return bitcast(n.type.elem, expr(n.args[0]));
    case ExprKind::kLoad:
      return load_of(n);
    case ExprKind::kLoadLocal:
      return load_local(local_of(n.local), uniform(n.args[0]));
    default:
      ok_ = false;
      return e;
  }
}

Expr Substitution::load_of(const ExprNode& n) {
  const Expr index = expr(n.args[0]);
  const bool varies = index->type.lanes > 1 && index->kind != ExprKind::kBroadcast;
  const Expr mask = mask_of(n.args, 1);
  // A uniform load is safe under the mask of the tail (one lane is active), not under a condition.
  if (!varies && !guarded_ && n.args.size() == 1) return load(n.buffer, index);
  return load(n.buffer, index, mask);
}

// The mask at hand and that of the access itself (its argument `at`), where either is there.
Expr Substitution::mask_of(const std::vector<Expr>& args, size_t at) {
  if (args.size() <= at) return mask_;
  const Expr own = expr(args[at]);
  return mask_ ? mask_ & own : own;
}

Stmt Substitution::store_of(const StmtNode& n) {
  const Expr index = expr(n.args[0]), value = expr(n.args[1]);
  const bool varies = index->type.lanes > 1 && index->kind != ExprKind::kBroadcast;
  if (varies) return store(n.buffer, index, value, mask_of(n.args, 2));
  // One place: fine if all lanes store the same and at least one is active.
  if (guarded_ || n.args.size() > 2 ||
      (value->type.lanes > 1 && value->kind != ExprKind::kBroadcast)) {
    ok_ = false;
    return block({});
  }
  return store(n.buffer, uniform(n.args[0]), uniform(n.args[1]));
}

Stmt Substitution::store_local_of(const StmtNode& n) {
  const Local target = local_of(n.local);
  const Expr index = uniform(n.args[0]);
  Expr value = expr(n.args[1]);
  if (mask_) value = select(mask_, value, load_local(target, index));
  return store_local(target, index, value);
}

Stmt Substitution::let_of(const StmtNode& n) {
  const Expr value = expr(n.args[0]);
  const bool wide = value->kind == ExprKind::kBroadcast;
  const Expr scalar = wide ? value->args[0] : value;
  const Expr renamed = var(n.var->name, scalar->type);
  rebind(n.var, wide ? broadcast(renamed, lanes_) : renamed);
  return let(renamed, scalar, stmt(n.body[0]));
}

Stmt Substitution::under(const Expr& condition, const Stmt& s) {
  const Expr outer = mask_;
  const bool was_guarded = guarded_;
  auto outer_done = std::move(done_);
  done_.clear();
  mask_ = outer ? (outer & condition) : condition;
  guarded_ = true;
  Stmt result = stmt(s);
  mask_ = outer;
  guarded_ = was_guarded;
  done_ = std::move(outer_done);
  return result;
}

Stmt Substitution::if_of(const StmtNode& n) {
  const Expr condition = expr(n.args[0]);
  if (condition->type.lanes == 1 || condition->kind == ExprKind::kBroadcast) {
    const Stmt else_body = n.body.size() > 1 ? stmt(n.body[1]) : Stmt{};
    return if_then(uniform(n.args[0]), stmt(n.body[0]), else_body);
  }
  const Expr taken = var("taken", condition->type);
  std::vector<Stmt> arms{under(taken, n.body[0])};
  if (n.body.size() > 1) arms.push_back(under(logical_not(taken), n.body[1]));
  return let(taken, condition, block(std::move(arms)));
}

Stmt Substitution::stmt(const Stmt& s) {
  const StmtNode& n = *s;
  switch (n.kind) {
    case StmtKind::kBlock: {
      std::vector<Stmt> children;
      for (const Stmt& child : n.body) children.push_back(stmt(child));
      return block(std::move(children));
    }
    case StmtKind::kFor: {
      const Expr inner = var(n.var->name);
      std::vector<Expr> bounds;
      for (const Expr& a : n.args) bounds.push_back(uniform(a));
      rebind(n.var, inner);
      return for_loop(inner, bounds[0], bounds[1], bounds[2], stmt(n.body[0]), n.for_kind);
    }
    case StmtKind::kIf:
      return if_of(n);
    case StmtKind::kLet:
      return let_of(n);
    case StmtKind::kStore:
      return store_of(n);
    case StmtKind::kLocal: {
      ok_ &= n.local->type.lanes == 1;
      const Local wide = local(n.local->name, n.local->type.with_lanes(lanes_), n.local->count);
      locals_[n.local.get()] = wide;
      return with_local(wide, stmt(n.body[0]));
    }
    case StmtKind::kStoreLocal:
      return store_local_of(n);
    case StmtKind::kPrefetch: {
      const Expr index = expr(n.args[0]);
      if (index->type.lanes == 1) return prefetch(n.buffer, index);
      return index->kind == ExprKind::kRamp || index->kind == ExprKind::kBroadcast
                 ? prefetch(n.buffer, index->args[0])
                 : block({});
    }
  }
  return s;
}

// acc[j] = op(acc[j], reduce(lanes[j])), and lanes[j] = identity before.
void surround(const std::vector<Local>& outer, const Accumulators& accumulators,
              std::vector<Stmt>& statements) {
  std::vector<Stmt> before;
  for (const Local& l : outer) {
    const Accumulator& a = accumulators.at(l.get());
    for (int64_t j = 0; j < l->count; ++j) {
      before.push_back(store_local(a.lanes, i64(j), identity(a.op, l->type)));
      const Expr total = reduce(a.op, load_local(a.lanes, j));
      statements.push_back(store_local(l, i64(j), prim(a.op, {load_local(l, j), total})));
    }
  }
  statements.insert(statements.begin(), before.begin(), before.end());
}

}  // namespace

Expr identity(Prim op, Type type) {
  const Elem e = type.elem;
  const int bits = 8 * elem_bytes(e);
  const double inf = std::numeric_limits<double>::infinity();
  const int64_t lowest = is_signed(e) ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  switch (op) {
    case Prim::kAdd:
    case Prim::kOr:
    case Prim::kXor:
      return int_constant(type, 0);
    case Prim::kMul:
      return int_constant(type, 1);
    case Prim::kAnd:
      return int_constant(type, -1);
    case Prim::kMin:
      return is_float(e) ? constant(type, inf) : int_constant(type, ~lowest);
    case Prim::kMax:
      return is_float(e) ? constant(type, -inf) : int_constant(type, lowest);
    default:
      TL_CHECK(false, "{} has no identity", prim_name(op));
  }
  return {};
}

Stmt vectorize(const Stmt& loop, int lanes) {
  const StmtNode& n = *loop;
  TL_CHECK(n.kind == StmtKind::kFor, "only loops are vectorised");
  if (n.for_kind != ForKind::kSerial || as_int(n.args[2]).value_or(0) != 1) return {};
  Scan scan(lanes);
  if (!scan.run(n.body[0])) return {};
  const Accumulators& accumulators = scan.accumulators();

  const Expr begin = n.args[0], end = n.args[1];
  const Expr split = begin + (end - begin) / lanes * lanes;
  const bool known = as_int(split).has_value();
  const Expr rest = known ? split : var("rest");
  const Expr base = var(n.var->name);
  Substitution whole(n.var, ramp(base, lanes), {}, accumulators);
  const Stmt body = whole.stmt(n.body[0]);
  const Expr tail_lanes = ramp(rest, lanes);
  Substitution tail(n.var, tail_lanes, tail_lanes < end, accumulators);
  const Stmt tail_body = tail.stmt(n.body[0]);
  if (!whole.ok() || !tail.ok()) return {};

  std::vector<Stmt> statements{for_loop(base, begin, rest, i64(lanes), body),
                               if_then(rest < end, tail_body)};
  surround(scan.outer(), accumulators, statements);
  Stmt result = block(std::move(statements));
  if (!known) result = let(rest, split, result);
  for (const Local& l : scan.outer()) result = with_local(accumulators.at(l.get()).lanes, result);
  return result;
}

}  // namespace tapeless::loop
