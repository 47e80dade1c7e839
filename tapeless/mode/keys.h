#pragma once

#include <map>
#include <string>

#include "tapeless/ir/builder.h"

namespace tapeless {

/// Hands out keys to the random ops of one function: fold_in(the function's key, hash of a name).
class SiteKeys {
 public:
  explicit SiteKeys(Builder& b) : b_(b) {}

  /// The key of the site where `op` stands, `%y = dropout ...`: named "y", or "dropout", made
  /// unique in the order of the body. The function gets a key parameter if it has none.
  Value* make(const Op& op);
  /// The parameter was added here: callers do not know of it yet.
  bool added() const { return added_; }

 private:
  Value* parameter();

  Builder& b_;
  std::map<std::string, int> uses_;
  bool added_ = false;
};

/// Every key is consumed at most once: a second draw from it would give the same bits. fold_in may
/// derive any number of keys. CompileErrors, all at once.
void check_single_use_of_keys(const Function& f);

}  // namespace tapeless
