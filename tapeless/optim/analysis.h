#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tapeless/ir/module.h"
#include "tapeless/optim/syntax.h"

namespace tapeless::optim {

/// What an element of the new weight and state depends on, least first.
enum class UpdateClass : uint8_t {
  kElementwise,   // the same element of weight, gradient and state
  kRowSeparable,  // the same row (first axis)
  kPerTensor      // anything of the tensor
};
std::string_view update_class_name(UpdateClass c);

/// By dataflow over an update function (see Instance).
UpdateClass classify(const Function& update);

/// True where a gradient of zeros leaves weight and states as they are, for every value of the
/// hypers in their ranges and finite weights and states: then rows without a gradient need no
/// visit.
bool keeps_under_zero_gradient(const Function& update, const std::map<std::string, Range>& ranges);

}  // namespace tapeless::optim
