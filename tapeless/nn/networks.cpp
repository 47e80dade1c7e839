// The built-in networks.
#include "tapeless/nn/model.h"

namespace tapeless::nn {

// conv 1>32, conv 32>64, max-pool 2, dropout, linear, dropout, linear; [B, 1, 28, 28] -> [B, 10]
Value* cnn(Layers& l, Value* x, int64_t classes, const NetOptions& options) {
  x = l.conv2d("conv1", x, 32, 3);
  if (options.batch_norm) x = l.batch_norm("bn1", x);
  x = l.relu(x);
  x = l.conv2d("conv2", x, 64, 3);
  if (options.batch_norm) x = l.batch_norm("bn2", x);
  x = l.max_pool(l.relu(x), 2);
  x = l.flatten(l.dropout(x, options.dropout1));
  x = l.relu(l.linear("fc1", x, options.hidden));
  return l.linear("fc2", l.dropout(x, options.dropout2), classes);
}

// one hidden layer; images are flattened
Value* mlp(Layers& l, Value* x, int64_t classes, const NetOptions& options) {
  x = l.relu(l.linear("fc1", l.flatten(x), options.hidden));
  return l.linear("fc2", x, classes);
}

}  // namespace tapeless::nn
