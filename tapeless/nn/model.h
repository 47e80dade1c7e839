#pragma once

#include <functional>
#include <string>

#include "tapeless/nn/layers.h"

namespace tapeless::nn {

/// What a network is trained on. Every loss is a pair (sum, weight).
struct Loss {
  /// cross_entropy (of logits) and nll (of log-probabilities) with labels i32[rows];
  /// bce_with_logits, mse, l1 and huber with targets of the result's shape.
  std::string kind = "cross_entropy";
  double label_smoothing = 0;
};

/// The sizes around a network. The batch is the symbol B, at most `max_batch`.
struct Problem {
  Shape input;  // of one example: [1, 28, 28]
  int64_t classes = 10;
  int64_t max_batch = 1024;
  Loss loss;
};

/// A source module and the names of the functions that training needs:
///   @net(x, variables) -> y             the network
///   @loss(x, y, variables) -> (loss_sum: f32[], weight: f32[], correct: f32[])
///   @predict(x, variables) -> y         probabilities of a classifier, else what @net gives
///   @init(key) -> (name: ...)           first values of all variables
/// A variable has the same name in all of them; modes are chosen later. `net` and `predict` are
/// empty where a user's file has only a loss.
struct Model {
  Module module;
  std::string net = "net";
  std::string loss = "loss";
  std::string predict = "predict";
  std::string init = "init";
};

/// Builds a network: from x [B, input...] to [B, classes].
using NetFunction = std::function<Value*(Layers& l, Value* x)>;

Model make_model(const Problem& problem, const NetFunction& net);

/// A model from a user's file. `entry` is a network (one input) or a loss (inputs x and y; results
/// sum and weight, or one scalar mean over rows). What the file lacks of @predict and @init is
/// added, @init with PyTorch's defaults.
Model make_model(Module module, const std::string& entry, const Loss& loss);

/// Adds @init(key) for these variables. Each draws from fold_in(key, hash of its name): adding a
/// layer changes no other one's first values.
void add_init(Module& module, const std::string& name, const std::vector<Variable>& variables);

/// PyTorch's default by use, name and shape for every parameter and state of `f`.
std::vector<Variable> default_variables(const Function& f);

struct NetOptions {
  double dropout1 = 0.25;
  double dropout2 = 0.5;
  int64_t hidden = 128;
  bool batch_norm = false;
};
/// The built-in networks.
Value* cnn(Layers& l, Value* x, int64_t classes, const NetOptions& options);
Value* mlp(Layers& l, Value* x, int64_t classes, const NetOptions& options);

}  // namespace tapeless::nn
