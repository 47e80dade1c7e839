#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tapeless/loop/machine.h"

namespace tapeless::codegen {

// Emits expressions as vector IR at the builder's insertion point. A node is emitted once within
// the scope where its value dominates: pure nodes for the rest of the enclosing body, nodes that
// read memory for one statement.
class ExprEmitter {
 public:
  ExprEmitter(llvm::IRBuilder<>& builder, const loop::Machine& machine)
      : b_(builder), machine_(machine) {}

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
  void store(const loop::StmtNode& n);
  // Address of element `index` (scalar) of a buffer or local.
  llvm::Value* address(const loop::BufferDecl& buffer, llvm::Value* index);
  llvm::Value* address(const loop::LocalDecl& local, llvm::Value* index);

 private:
  struct Entry {
    llvm::Value* value;
    bool pure;
  };

  // Where a vector is read or written: `at` is the first element's address or one address a lane,
  // which then may lie in memory at `slot` too.
  struct Place {
    bool contiguous;
    llvm::Type* scalar;
    llvm::Value* at = nullptr;
    llvm::Value* slot = nullptr;
  };

  llvm::Value* compute(const loop::Expr& e);
  llvm::Value* constant(const loop::ExprNode& n);
  llvm::Value* load(const loop::ExprNode& n);
  llvm::Value* load_vector(const loop::BufferDecl& buffer, const loop::Expr& index,
                           llvm::Value* mask, llvm::Type* type);
  Place place_of(const loop::BufferDecl& buffer, const loop::Expr& index, bool in_memory);
  llvm::Value* lane_address(const Place& place, llvm::Value* lane);
  bool has_masked(loop::Elem elem, bool contiguous) const;
  llvm::Value* entry_slot(llvm::Type* type);  // stack memory
  llvm::Value* masked_load(llvm::Type* type, llvm::Value* at, llvm::Align align, llvm::Value* mask);
  template <class Fn>
  void for_active_lanes(llvm::Value* mask, Fn fn);
  llvm::Value* to_memory(llvm::Value* value, loop::Elem elem);
  llvm::Value* prim(const loop::Expr& e);
  llvm::Value* float_prim(const loop::ExprNode& n, llvm::ArrayRef<llvm::Value*> a);
  llvm::Value* integer_prim(const loop::ExprNode& n, llvm::ArrayRef<llvm::Value*> a);
  llvm::Value* compare(const loop::ExprNode& n, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide(const loop::ExprNode& n, llvm::Value* a, llvm::Value* b);
  llvm::Value* quotient_of(const loop::ExprNode& n, llvm::Value* a, llvm::Value* b);
  llvm::Value* quotient_by_division(const loop::ExprNode& n, llvm::Value* a, llvm::Value* b);
  llvm::Value* quotient_by_floats(llvm::Value* a, llvm::Value* c, int lanes);
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
  const loop::Machine& machine_;
  std::unordered_map<const loop::ExprNode*, Entry> values_;
  std::vector<const loop::ExprNode*> trail_;  // nodes of values_ in the order they were emitted
  size_t statement_ = 0;                      // where the statement at hand starts in trail_
  // Quotients of the statement at hand, by dividend and divisor: remainders share them.
  std::map<std::pair<const loop::ExprNode*, const loop::ExprNode*>, llvm::Value*> quotients_;
  std::unordered_map<const loop::ExprNode*, llvm::Value*> vars_;
  std::unordered_map<const void*, llvm::Value*> bases_;
  std::vector<loop::Expr> expansions_;  // keeps the nodes that values_ points to alive
};

}  // namespace tapeless::codegen
