#pragma once

#include <span>
#include <vector>

#include "tapeless/ir/builder.h"

namespace tapeless {

/// What the train or infer form of an op sees (specialize calls it): it builds ordinary ops and
/// sets every result.
class ModeForm {
 public:
  ModeForm(Builder& b, const Op& op, std::span<Value* const> operands)
      : b(b), op(op), operands_(operands), results_(op.results.size(), nullptr) {}
  virtual ~ModeForm() = default;

  Builder& b;
  const Op& op;

  Value* operand(int i) const { return operands_[static_cast<size_t>(i)]; }
  void result(int i, Value* value) { results_[static_cast<size_t>(i)] = value; }
  std::span<Value* const> results() const { return results_; }

  /// A key of this op's own: fold_in(key of the call, hash of its call path and name).
  virtual Value* key() = 0;
  /// From here on operand `i`, which is state, has this value; the function returns it.
  virtual void set_state(int i, Value* value) = 0;

 private:
  std::span<Value* const> operands_;
  std::vector<Value*> results_;
};

}  // namespace tapeless
