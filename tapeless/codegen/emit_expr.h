#pragma once

#include <llvm/IR/IRBuilder.h>

#include <unordered_map>
#include <vector>

#include "tapeless/loop/loop.h"

namespace tapeless::codegen {

// Emits expressions as vector IR at the builder's insertion point. A node is emitted once within
// the scope where its value dominates: pure nodes for the rest of the enclosing body, nodes that
// read memory for one statement.
class ExprEmitter {
 public:
  ExprEmitter(llvm::IRBuilder<>& builder, bool fma) : b_(builder), fma_(fma) {}

  llvm::Value* emit(const loop::Expr& e);
  void bind(const loop::Expr& var, llvm::Value* value) { vars_[var.get()] = value; }
  void bind(const loop::Buffer& buffer, llvm::Value* base) { bases_[buffer.get()] = base; }
  void bind(const loop::Local& local, llvm::Value* base) { bases_[local.get()] = base; }

  void end_statement();
  size_t open_scope() const { return trail_.size(); }
  void close_scope(size_t mark);

  // Value type, and the type in memory (bool: a byte).
  llvm::Type* value_type(loop::Type t);
  llvm::Type* memory_type(loop::Type t);
  // Address of element `index` (scalar) of a buffer or local.
  llvm::Value* address(const loop::BufferDecl& buffer, llvm::Value* index);
  llvm::Value* address(const loop::LocalDecl& local, llvm::Value* index);
  // One address a lane.
  llvm::Value* addresses(const loop::BufferDecl& buffer, const loop::Expr& index);
  llvm::Value* to_memory(llvm::Value* value, loop::Elem elem);

 private:
  struct Entry {
    llvm::Value* value;
    bool pure;
  };

  llvm::Value* compute(const loop::Expr& e);
  llvm::Value* constant(const loop::ExprNode& n);
  llvm::Value* load(const loop::ExprNode& n);
  llvm::Value* prim(const loop::Expr& e);
  llvm::Value* float_prim(const loop::ExprNode& n, llvm::ArrayRef<llvm::Value*> a);
  llvm::Value* integer_prim(const loop::ExprNode& n, llvm::ArrayRef<llvm::Value*> a);
  llvm::Value* compare(const loop::ExprNode& n, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide(const loop::ExprNode& n, llvm::Value* a, llvm::Value* b);
  llvm::Value* math(const loop::Expr& e);
  llvm::Value* library_call(const loop::ExprNode& n);
  llvm::Value* cast(const loop::ExprNode& n);
  llvm::Value* to_float(llvm::Value* v, loop::Type from);
  llvm::Value* from_float(llvm::Value* v, loop::Type from, loop::Type to);
  llvm::Value* reduce(const loop::ExprNode& n);
  llvm::Value* combine(loop::Prim op, loop::Elem elem, llvm::Value* a, llvm::Value* b);
  llvm::Value* min_max(loop::Prim op, loop::Elem elem, llvm::Value* a, llvm::Value* b);
  llvm::Value* splat(llvm::Value* v, int lanes) {
    return lanes == 1 ? v : b_.CreateVectorSplat(static_cast<unsigned>(lanes), v);
  }

  llvm::IRBuilder<>& b_;
  bool fma_;
  std::unordered_map<const loop::ExprNode*, Entry> values_;
  std::vector<const loop::ExprNode*> trail_;  // nodes of values_ in the order they were emitted
  size_t statement_ = 0;                      // where the statement at hand starts in trail_
  std::unordered_map<const loop::ExprNode*, llvm::Value*> vars_;
  std::unordered_map<const void*, llvm::Value*> bases_;
  std::vector<loop::Expr> expansions_;  // keeps the nodes that values_ points to alive
};

}  // namespace tapeless::codegen
