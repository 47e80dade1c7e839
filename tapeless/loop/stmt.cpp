// Statements: constructors, and the Body helper.
#include <utility>

#include "tapeless/loop/loop.h"

namespace tapeless::loop {
namespace {

Stmt make(StmtNode node) { return Stmt(std::make_shared<const StmtNode>(std::move(node))); }

}  // namespace

Buffer buffer(std::string name, Elem elem, Access access, Expr scratch_offset) {
  return std::make_shared<const BufferDecl>(
      BufferDecl{std::move(name), elem, access, std::move(scratch_offset)});
}

Local local(std::string name, Type type, int64_t count) {
  return std::make_shared<const LocalDecl>(LocalDecl{std::move(name), type, count});
}

Stmt block(std::vector<Stmt> statements) {
  if (statements.size() == 1) return statements[0];
  return make({.kind = StmtKind::kBlock, .body = std::move(statements)});
}

Stmt for_loop(Expr var, Expr begin, Expr end, Expr step, Stmt body, ForKind kind) {
  return make({.kind = StmtKind::kFor,
               .for_kind = kind,
               .var = std::move(var),
               .args = {std::move(begin), std::move(end), std::move(step)},
               .body = {std::move(body)}});
}

Stmt if_then(Expr condition, Stmt then_body, Stmt else_body) {
  if (const auto c = as_int(condition)) {
    if (*c) return then_body;
    return else_body ? else_body : block({});
  }
  StmtNode node{.kind = StmtKind::kIf, .args = {std::move(condition)}, .body = {then_body}};
  if (else_body) node.body.push_back(std::move(else_body));
  return make(std::move(node));
}

Stmt let(Expr var, Expr value, Stmt body) {
  return make({.kind = StmtKind::kLet,
               .var = std::move(var),
               .args = {std::move(value)},
               .body = {std::move(body)}});
}

Stmt store(const Buffer& buffer, Expr index, Expr value, Expr mask) {
  if (mask && as_int(mask).value_or(0) == 1) mask = {};
  const int lanes = std::max(index->type.lanes, mask ? mask->type.lanes : 1);
  std::vector<Expr> args{broadcast(std::move(index), lanes), broadcast(std::move(value), lanes)};
  if (mask) args.push_back(broadcast(std::move(mask), lanes));
  return make({.kind = StmtKind::kStore, .args = std::move(args), .buffer = buffer});
}

Stmt with_local(const Local& local, Stmt body) {
  return make({.kind = StmtKind::kLocal, .body = {std::move(body)}, .local = local});
}

Stmt store_local(const Local& local, Expr index, Expr value) {
  value = broadcast(std::move(value), local->type.lanes);
  return make({.kind = StmtKind::kStoreLocal,
               .args = {std::move(index), std::move(value)},
               .local = local});
}

Stmt prefetch(const Buffer& buffer, Expr index) {
  return make({.kind = StmtKind::kPrefetch, .args = {std::move(index)}, .buffer = buffer});
}

Expr Body::let(std::string name, Expr value) {
  const ExprKind k = value->kind;
  if (k == ExprKind::kVar || k == ExprKind::kConst) return value;
  if (k == ExprKind::kBroadcast) {
    return broadcast(let(std::move(name), value->args[0]), value->type.lanes);
  }
  const Expr v = var(std::move(name), value->type);
  items_.push_back({.var = v, .value = std::move(value)});
  return v;
}

Local Body::make_local(std::string name, Type type, int64_t count) {
  const Local l = loop::local(std::move(name), type, count);
  items_.push_back({.local = l});
  return l;
}

void Body::add(Stmt statement) { items_.push_back({.statement = std::move(statement)}); }

void Body::store(const Buffer& buffer, Expr index, Expr value, Expr mask) {
  add(loop::store(buffer, std::move(index), std::move(value), std::move(mask)));
}

void Body::store_local(const Local& local, Expr index, Expr value) {
  add(loop::store_local(local, std::move(index), std::move(value)));
}

void Body::store_local(const Local& local, int64_t index, Expr value) {
  store_local(local, i64(index), std::move(value));
}

void Body::prefetch(const Buffer& buffer, Expr index) {
  add(loop::prefetch(buffer, std::move(index)));
}

void Body::loop(std::string name, Expr begin, Expr end, Expr step, const LoopFn& fn) {
  const Expr v = var(std::move(name));
  Body inner;
  fn(inner, v);
  add(for_loop(v, std::move(begin), std::move(end), std::move(step), inner.finish()));
}

void Body::loop(std::string name, Expr begin, Expr end, const LoopFn& fn) {
  loop(std::move(name), std::move(begin), std::move(end), i64(1), fn);
}

void Body::unrolled(std::string name, int64_t begin, int64_t end, const LoopFn& fn) {
  const Expr v = var(std::move(name));
  Body inner;
  fn(inner, v);
  add(for_loop(v, i64(begin), i64(end), i64(1), inner.finish(), ForKind::kUnrolled));
}

void Body::when(Expr condition, const std::function<void(Body&)>& then_fn,
                const std::function<void(Body&)>& else_fn) {
  Body then_body, else_body;
  then_fn(then_body);
  if (else_fn) else_fn(else_body);
  add(if_then(std::move(condition), then_body.finish(), else_fn ? else_body.finish() : Stmt{}));
}

Stmt Body::finish() {
  std::vector<Stmt> tail;  // in reverse order
  auto collapse = [&] { return block({tail.rbegin(), tail.rend()}); };
  for (auto it = items_.rbegin(); it != items_.rend(); ++it) {
    if (it->statement) {
      tail.push_back(it->statement);
    } else if (it->local) {
      tail = {with_local(it->local, collapse())};
    } else {
      tail = {loop::let(it->var, it->value, collapse())};
    }
  }
  items_.clear();
  return collapse();
}

}  // namespace tapeless::loop
