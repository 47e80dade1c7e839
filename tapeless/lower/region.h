#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tapeless/ir/module.h"
#include "tapeless/loop/loop.h"
#include "tapeless/ops/lowering.h"

namespace tapeless::lowering {

/// Name of the size that holds how many threads share a kernel's tasks.
inline constexpr std::string_view kThreads = "@threads";

/// A region while its kernel is built: buffers and sizes by need, and the elements of its values.
///
/// Loops run over flattened spaces. `split` turns a flat variable into indices by division, and
/// remembers how; where an access uses indices that belong together, their flat parent is used
/// instead, so that the divisions vanish again:
///   split(j, [H, W]) = (j / W, j % W);  position of (j / W, j % W) in [H, W] = j
class Region {
 public:
  explicit Region(const Function& function) : function_(function) {}

  const Function& function() const { return function_; }

  loop::Expr size(const Dim& dim);
  loop::Expr threads() { return symbol(std::string(kThreads)); }
  Indices split(loop::Expr flat, const Shape& shape);
  /// Row-major position of `index` in `shape`.
  loop::Expr position(const Indices& index, const Shape& shape);

  /// The element of a value at `index`; 0 without a read where `mask` is given and false.
  loop::Expr element(const Value* value, const Indices& index, loop::Expr mask = {});
  /// The element at a row-major position.
  loop::Expr element_at(const Value* value, loop::Expr position);
  /// From here on elements of `value` are this expression, whatever the index; null lifts it.
  void bind(const Value* value, loop::Expr expr);

  loop::Buffer param_buffer(int i);
  loop::Buffer result_buffer(int i);
  /// Memory of the thread at hand, `bytes` of it; laid out one behind the other.
  loop::Buffer scratch(const std::string& name, loop::Elem elem, loop::Expr elements);

  /// The kernel so far: `buffers()` says which region slot each of its buffers is (parameters
  /// first, then results), `symbols()` the names of its sizes.
  loop::Kernel kernel(loop::Expr tasks, loop::Expr task, loop::Stmt body);
  const std::vector<int>& slots() const { return slots_; }
  const std::vector<std::string>& symbols() const { return symbols_; }

 private:
  struct Split {
    const loop::ExprNode* quotient;
    loop::Expr remainder, parent;
    Dim extent;
  };

  loop::Expr symbol(const std::string& name);
  loop::Buffer slot_buffer(int slot, const Value* value, bool written);

  const Function& function_;
  std::map<std::string, loop::Expr> sizes_;
  std::map<std::string, loop::Expr> dims_;  // by printed form
  std::vector<std::string> symbols_;
  std::vector<loop::Expr> symbol_vars_;
  std::unordered_map<int, loop::Buffer> buffers_;
  std::vector<loop::Buffer> ordered_;
  std::vector<int> slots_;
  loop::Expr scratch_bytes_;
  std::unordered_map<const loop::ExprNode*, Split> splits_;  // by remainder
  std::unordered_map<const Value*, loop::Expr> bound_;
  std::vector<loop::Expr> kept_;  // keeps the nodes that splits_ points to alive
  std::map<std::vector<const void*>, loop::Expr> memo_;
};

/// Hands an op of a region the elements of its operands; `mask` guards all reads below.
class OperandElements : public Elements {
 public:
  OperandElements(Region& region, const Op& op, loop::Expr mask = {})
      : Elements(op), region_(region), mask_(std::move(mask)) {}

  loop::Expr operand(int i, const Indices& index, loop::Expr mask) override;
  loop::Expr operand_flat(int i, loop::Expr position) override;
  loop::Expr size(const Dim& dim) override { return region_.size(dim); }
  loop::Expr flat(const Indices& index, const Shape& shape) override {
    return region_.position(index, shape);
  }
  Indices unflatten(loop::Expr position, const Shape& shape) override {
    return region_.split(position, shape);
  }

 private:
  Region& region_;
  loop::Expr mask_;
};

}  // namespace tapeless::lowering
