#pragma once

#include <span>
#include <vector>

#include "tapeless/ir/builder.h"

namespace tapeless {

/// What the walk asks of the module around it.
class CallRule {
 public:
  virtual ~CallRule() = default;
  /// Cotangents of the operands of a call, null where there is none.
  virtual std::vector<Value*> pull_back(Builder& b, const Op& call,
                                        std::span<Value* const> cotangents,
                                        const std::vector<bool>& needed) = 0;
  /// An op that cannot be differentiated was met; the walk goes on to find all others.
  virtual void missing(const CompileError& error) = 0;
};

/// Appends to `b`'s function the reverse of all ops that are in it. `seeds` are the cotangents of
/// `results`, null where absent. Returns those of `wrt` (parameters), null where nothing arrived.
std::vector<Value*> walk_back(Builder& b, std::span<Value* const> wrt,
                              std::span<Value* const> results, std::span<Value* const> seeds,
                              CallRule& calls);

}  // namespace tapeless
