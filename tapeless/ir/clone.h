#pragma once

#include <memory>
#include <span>
#include <unordered_map>

#include "tapeless/ir/builder.h"

namespace tapeless {

/// From values of one function to values of another. Lookups only: nothing walks it.
class ValueMap {
 public:
  void set(const Value* from, Value* to) { map_[from] = to; }
  Value* find(const Value* from) const {
    auto found = map_.find(from);
    return found == map_.end() ? nullptr : found->second;
  }
  /// The image; checked to exist.
  Value* operator[](const Value* from) const;
  std::vector<Value*> all(std::span<Value* const> from) const;

 private:
  std::unordered_map<const Value*, Value*> map_;
};

/// Parameters (types, roles, names), bounds, location and declarations of `from`, not its body.
std::unique_ptr<Function> clone_signature(const Function& from, ValueMap& map);
/// Appends a copy of `op` with mapped operands and maps its results (names kept, types inferred
/// anew, location kept).
Op* clone_op(Builder& b, const Op& op, ValueMap& map);
std::unique_ptr<Function> clone(const Function& from);
Module clone(const Module& module);

/// Substitutes symbols in shapes that are attributes.
AttrMap substitute(const AttrMap& attrs, const std::map<std::string, Dim>& with);

/// Copies the body of `callee` into `b`'s function, symbols replaced by the arguments' sizes;
/// returns the values of its results. Locations are kept.
std::vector<Value*> inline_body(Builder& b, const Function& callee,
                                std::span<Value* const> arguments);

/// Drops ops whose results nobody needs (pure ones: all are). Returns how many went.
int remove_dead_ops(Function& f);

}  // namespace tapeless
