#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tapeless/ir/builder.h"

namespace tapeless::optim {

/// What the cotangent of the loss's sum is.
enum class Seed : uint8_t {
  kMean,  // 1 / weight: gradients of the loss
  kSum    // 1: gradients that add up over micro-batches
};

/// The results of a loss function and its gradients, as values of a step function.
struct LossParts {
  Value* sum = nullptr;
  Value* weight = nullptr;
  Value* loss = nullptr;  // sum / weight; 0 where the weight is 0
  std::vector<std::pair<std::string, Value*>> metrics;
  std::vector<std::pair<std::string, Value*>> states;  // new values of model state
  std::map<std::string, Value*> gradients;
};

/// Appends the body of `vjp` (parameters of `loss`, then the sum's cotangent), whose parameters the
/// function under construction has by name.
LossParts differentiate_loss(Builder& b, const Function& loss, const Function& vjp, Seed seed);

/// The type of the loss.
Type loss_type(const Function& loss);

/// x, or 1 where x is 0: what one may divide by.
Value* nonzero(Builder& b, Value* x);

}  // namespace tapeless::optim
