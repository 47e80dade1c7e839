// Verifier of loop IR: a walk with the set of names in scope.
#include "tapeless/loop/verify.h"

#include <set>

#include "tapeless/loop/print.h"
#include "tapeless/support/check.h"

#define TL_VERIFY(condition, ...) \
  TL_CHECK(condition, "{}\nin\n{}", fmt::format(__VA_ARGS__), print(kernel_))

namespace tapeless::loop {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}
  void run();

 private:
  void expr(const Expr& e);
  void prim(const ExprNode& n);
  void stmt(const Stmt& s);
  void nested(const Stmt& s, const void* name);
  void index(const Expr& e, const char* what);
  void access(const Buffer& b, bool write);
  bool in_scope(const void* identity) const { return scope_.contains(identity); }

  const Kernel& kernel_;
  std::set<const void*> scope_;
  std::set<const ExprNode*> seen_;  // within one statement
};

constexpr Type kIndex{Elem::kI64};

void Verifier::prim(const ExprNode& n) {
  const Elem elem = n.args.back()->type.elem;
  const Prim op = n.op;
  const bool storage_only = elem == Elem::kBF16 || elem == Elem::kF16;
  TL_VERIFY(!storage_only || op == Prim::kSelect, "{} of {}: a storage type", prim_name(op),
            elem_name(elem));
  const bool floats_only = op == Prim::kDiv || op == Prim::kFma || op == Prim::kIsNan ||
                           (op >= Prim::kSqrt && op <= Prim::kRoundEven) || op >= Prim::kExp;
  TL_VERIFY(!floats_only || is_float(elem), "{} of {}", prim_name(op), elem_name(elem));
  const bool integers_only = op == Prim::kFloorDiv || op == Prim::kFloorMod || op == Prim::kShl ||
                             op == Prim::kShr || op == Prim::kMulHi;
  TL_VERIFY(!integers_only || is_integer(elem), "{} of {}", prim_name(op), elem_name(elem));
  const bool bitwise = op >= Prim::kAnd && op <= Prim::kNot;
  TL_VERIFY(!bitwise || !is_float(elem), "{} of {}", prim_name(op), elem_name(elem));
  const bool any = op == Prim::kSelect || bitwise || op == Prim::kEq || op == Prim::kNe;
  TL_VERIFY(any || elem != Elem::kBool, "{} of bool", prim_name(op));
  if (op == Prim::kSelect) {
    TL_VERIFY(n.args[0]->type.elem == Elem::kBool, "select's condition is {}",
              elem_name(n.args[0]->type.elem));
  }
}

void Verifier::index(const Expr& e, const char* what) {
  TL_VERIFY(e->type.elem == Elem::kI64, "{} of type {}", what, elem_name(e->type.elem));
}

void Verifier::access(const Buffer& b, bool write) {
  TL_VERIFY(in_scope(b.get()), "buffer {} is not one of the kernel", b->name);
  const bool allowed = write ? b->access != Access::kRead : b->access != Access::kWrite;
  TL_VERIFY(allowed, "{} is {}", b->name,
            write ? "written but declared read" : "read but declared write");
}

void Verifier::expr(const Expr& e) {
  TL_VERIFY(e, "null expression");
  if (!seen_.insert(e.get()).second) return;
  for (const Expr& a : e->args) expr(a);
  const ExprNode& n = *e;
  switch (n.kind) {
    case ExprKind::kConst:
      TL_VERIFY(n.type.lanes == 1, "constant of several lanes");
      return;
    case ExprKind::kVar:
      TL_VERIFY(in_scope(e.get()), "{} is not in scope", n.name);
      return;
    case ExprKind::kPrim:
      return prim(n);
    case ExprKind::kLoad:
      access(n.buffer, false);
      index(n.args[0], "index");
      if (n.args.size() > 1) {
        const Type mask = n.args[1]->type;
        TL_VERIFY(mask == Type({Elem::kBool, n.type.lanes}), "mask of {} lanes", mask.lanes);
      }
      return;
    case ExprKind::kRamp:
      TL_VERIFY(n.args[0]->type.lanes == 1 && n.args[0]->type == n.args[1]->type &&
                    is_integer(n.type.elem),
                "ramp of {} and {}", elem_name(n.args[0]->type.elem),
                elem_name(n.args[1]->type.elem));
      return;
    case ExprKind::kLoadLocal:
      TL_VERIFY(in_scope(n.local.get()), "local {} is not in scope", n.local->name);
      TL_VERIFY(n.args[0]->type == kIndex, "local index of {}", elem_name(n.args[0]->type.elem));
      if (const auto i = as_int(n.args[0])) {
        TL_VERIFY(*i >= 0 && *i < n.local->count, "{}[{}] of {}", n.local->name, *i,
                  n.local->count);
      }
      return;
    case ExprKind::kReduce:
    case ExprKind::kCast:
    case ExprKind::kBitcast:
    case ExprKind::kBroadcast:
      return;
  }
}

void Verifier::nested(const Stmt& s, const void* name) {
  TL_VERIFY(scope_.insert(name).second, "a name is declared twice");
  stmt(s);
  scope_.erase(name);
}

void Verifier::stmt(const Stmt& s) {
  TL_VERIFY(s, "null statement");
  const StmtNode& n = *s;
  seen_.clear();
  for (const Expr& a : n.args) expr(a);
  switch (n.kind) {
    case StmtKind::kBlock:
      for (const Stmt& child : n.body) stmt(child);
      return;
    case StmtKind::kFor:
      for (const Expr& a : n.args) TL_VERIFY(a->type == kIndex, "loop bounds are i64 scalars");
      TL_VERIFY(n.var->kind == ExprKind::kVar && n.var->type == kIndex, "loop variables are i64");
      if (n.for_kind == ForKind::kUnrolled) {
        TL_VERIFY(as_int(n.args[0]) && as_int(n.args[1]) && as_int(n.args[2]),
                  "unrolled loop {} without constant bounds", n.var->name);
      }
      return nested(n.body[0], n.var.get());
    case StmtKind::kIf:
      TL_VERIFY(n.args[0]->type == Type{Elem::kBool}, "if takes a bool scalar");
      for (const Stmt& child : n.body) stmt(child);
      return;
    case StmtKind::kLet:
      TL_VERIFY(n.var->kind == ExprKind::kVar && n.var->type == n.args[0]->type,
                "{} is not of its value's type", n.var->name);
      return nested(n.body[0], n.var.get());
    case StmtKind::kLocal:
      TL_VERIFY(n.local->count > 0, "local {} of no registers", n.local->name);
      return nested(n.body[0], n.local.get());
    case StmtKind::kStore:
      access(n.buffer, true);
      index(n.args[0], "index");
      TL_VERIFY(n.args[1]->type == Type({n.buffer->elem, n.args[0]->type.lanes}),
                "{} of {} lanes stored to {} {}", elem_name(n.args[1]->type.elem),
                n.args[1]->type.lanes, elem_name(n.buffer->elem), n.buffer->name);
      return;
    case StmtKind::kStoreLocal:
      TL_VERIFY(in_scope(n.local.get()), "local {} is not in scope", n.local->name);
      TL_VERIFY(n.args[0]->type == kIndex && n.args[1]->type == n.local->type,
                "store of {} to local {}", elem_name(n.args[1]->type.elem), n.local->name);
      return;
    case StmtKind::kPrefetch:
      TL_VERIFY(in_scope(n.buffer.get()), "buffer {} is not one of the kernel", n.buffer->name);
      return index(n.args[0], "index");
  }
}

void Verifier::run() {
  for (const Expr& s : kernel_.sizes) scope_.insert(s.get());
  for (const Buffer& b : kernel_.buffers) {
    TL_VERIFY((b->access == Access::kScratch) == static_cast<bool>(b->offset),
              "{}: a scratch buffer has an offset, others have none", b->name);
    if (b->offset) expr(b->offset);
    scope_.insert(b.get());
  }
  if (kernel_.scratch_bytes) expr(kernel_.scratch_bytes);
  if (kernel_.tasks) expr(kernel_.tasks);
  if (kernel_.task) scope_.insert(kernel_.task.get());
  stmt(kernel_.body);
}

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace tapeless::loop
