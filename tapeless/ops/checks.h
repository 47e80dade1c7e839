#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tapeless/ir/module.h"
#include "tapeless/tensor/tensor.h"

namespace tapeless {

/// Every element of an integer operand is an index in [0, limit), or equal to `except`.
struct IndexCheck {
  int operand = 0;
  Dim limit;
  std::optional<int64_t> except = {};
  Loc loc = {};
  std::string op = {}, name = {};  // of the op, and of the value that holds the indices
};

/// A size that must be `least` or more; not asked where `unless_empty` is 0.
struct SizeCheck {
  Dim size;
  int64_t least = 0;
  Dim unless_empty = 1;
  std::string message;  // what is wrong, in symbols; the sizes at hand are appended
  Loc loc = {};
  std::string op = {};
};

/// What an op asks of its data at run time, beyond the types of its operands.
struct OpChecks {
  std::vector<IndexCheck> indices;
  std::vector<SizeCheck> sizes;
};

/// The checks of an op by its definition, with its location; among them that no result has a
/// negative size.
OpChecks checks_of(const Op& op);

/// DataErrors where a check fails in a run of @entry with these sizes.
void check_size(const SizeCheck& check, const SymbolValues& symbols, const std::string& entry);
void check_indices(const IndexCheck& check, const Tensor& indices, const SymbolValues& symbols,
                   const std::string& entry);

}  // namespace tapeless
