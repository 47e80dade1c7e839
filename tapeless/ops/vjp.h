#pragma once

#include <span>
#include <vector>

#include "tapeless/ir/builder.h"

namespace tapeless {

/// What a gradient rule sees. Values are those of the function being built, so a rule may use any
/// operand or result of its op; what it uses has to be kept or recomputed by the caller.
///   y = op(x...), given dy: v.give(i, dL/dx_i)
/// A rule gives a cotangent in the shape of the op's *result* where the op broadcasts its operands:
/// the walk sums it back to the operand's shape. An absent cotangent stays absent: results that
/// got none have null, and a rule gives nothing for operands that do not need one.
class Vjp {
 public:
  Vjp(Builder& b, const Op& op, std::span<Value* const> operands, std::span<Value* const> results,
      std::span<Value* const> cotangents, std::vector<bool> needed)
      : b(b),
        op(op),
        operands_(operands),
        results_(results),
        cotangents_(cotangents),
        needed_(std::move(needed)),
        given_(operands.size(), nullptr) {}

  Builder& b;
  /// The op itself: attributes and types. Take values from operand() and result().
  const Op& op;

  Value* operand(int i) const { return operands_[static_cast<size_t>(i)]; }
  Value* result(int i = 0) const { return results_[static_cast<size_t>(i)]; }
  int operand_count() const { return static_cast<int>(operands_.size()); }
  /// The cotangent of result `i`; null where nothing flows back into it.
  Value* cotangent(int i = 0) const { return cotangents_[static_cast<size_t>(i)]; }
  bool needs(int i) const { return needed_[static_cast<size_t>(i)]; }
  /// Sets the cotangent of operand `i`; once for each operand. Null gives nothing.
  void give(int i, Value* cotangent);

  std::span<Value* const> given() const { return given_; }

 private:
  std::span<Value* const> operands_, results_, cotangents_;
  std::vector<bool> needed_;
  std::vector<Value*> given_;
};

/// Gives `dx` where the cotangent of result 0 is not zero, and 0 where it is. For rules whose slope
/// can be infinite or NaN: where(x > 0, log(x), 0) has gradient 0 at x <= 0, not 0 * inf.
void give_guarded(Vjp& v, int i, Value* dx);

}  // namespace tapeless
