// Defines a classifier, trains it on Fashion-MNIST for one epoch, evaluates it and saves it.
#include <cstdio>
#include <exception>

#include "tapeless/train/trainer.h"

using namespace tapeless;

// x: [B, 1, 28, 28] -> [B, 10]
static Value* network(nn::Layers& l, Value* x) {
  x = l.relu(l.linear("fc1", l.flatten(x), 128));
  return l.linear("fc2", l.dropout(x, 0.2), 10);
}

int main() try {
  Recipe recipe;
  recipe.data.name = "fashion-mnist";
  recipe.optimizer.name = "adamw";
  recipe.optimizer.settings = {{"lr", 1e-3}};
  recipe.train.batch = 64;
  recipe.train.epochs = 1;

  Trainer trainer(recipe, network);
  trainer.train();
  std::printf("test accuracy %.2f %%\n", 100 * trainer.evaluate().accuracy);
  trainer.save("quickstart-model");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
