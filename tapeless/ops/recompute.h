#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "tapeless/ir/clone.h"

namespace tapeless {

/// What it takes to compute an op a second time.
enum class RecomputeCost : uint8_t {
  kCheap,        // elements on demand: elementwise, shapes, random bits, constants
  kReduction,    // reads everything: reductions, scatters, composites
  kContraction,  // products and calls
  kNever         // C code with effects
};
RecomputeCost recompute_cost(const Op& op, const Module& module);

/// Bytes of a value at these sizes; a symbol without one counts with its bound, or as 256.
int64_t value_bytes(const Type& type, const Function& f, const SymbolValues& sizes);

/// A joint function `<f>.vjp` seen as a forward part (what does not depend on the seeds, its last
/// parameters) and a backward part.
class JointView {
 public:
  /// `f` has the forward results, `joint` those and then the gradients.
  JointView(const Module& module, const Function& f, const Function& joint);

  const Function& joint() const { return *joint_; }
  int first_seed() const { return first_seed_; }
  int first_gradient() const { return first_gradient_; }
  bool backward(const Op& op) const { return op_backward_.count(&op) > 0; }
  bool backward(const Value* v) const { return values_backward_.count(v) > 0; }

  struct Keep {
    std::vector<Value*> values;  // in the order of the function; parameters first
    int64_t bytes = 0;           // of those that are no parameters
  };
  /// The cheapest set of forward values from which the backward part can be computed. Values of ops
  /// up to `allowed` may be computed again, of contractions only the first `contractions`.
  Keep cheapest(const SymbolValues& sizes, RecomputeCost allowed, int contractions = 0) const;
  /// Contractions of the forward part.
  int contraction_count() const;

  /// Appends the ops that make `wanted` from what `map` holds, without the backward part.
  void emit_forward(Builder& b, ValueMap& map, std::span<Value* const> wanted) const;
  /// Appends the backward part. Forward values that `map` does not hold are computed again right
  /// before their first use. With `barriers` the copies cannot be merged with the originals.
  /// Returns the gradients.
  std::vector<Value*> emit_backward(Builder& b, ValueMap& map, bool barriers) const;

 private:
  const Module* module_;
  const Function* joint_;
  int first_seed_, first_gradient_;
  std::unordered_set<const Value*> values_backward_;
  std::unordered_set<const Op*> op_backward_;
};

}  // namespace tapeless
