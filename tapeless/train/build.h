#pragma once

#include <functional>
#include <memory>

#include "tapeless/compiler/training.h"
#include "tapeless/data/array_dataset.h"
#include "tapeless/nn/model.h"
#include "tapeless/optim/step_plan.h"
#include "tapeless/train/recipe.h"

// From the sections of a recipe to what they name.
namespace tapeless {

struct TrainingData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;  // null where no rows are set aside
  std::shared_ptr<const Dataset> test;
  /// The test images as stored, u8 [N, 1, H, W], for reports; undefined for other data.
  Tensor test_pixels;
  Extents input;  // of one example
  int64_t classes = 0;
  std::vector<std::string> class_names;
};
TrainingData load_data(const Recipe& recipe);

/// The recipe's network, or `net` where one is given, for examples of shape `input`.
nn::Model build_model(const Recipe& recipe, const Extents& input,
                      const nn::NetFunction& net = nullptr);

optim::StepOptions step_options(const Recipe& recipe);

/// Precision and memory limit, for the recipe's batch.
TrainingChoices training_choices(const Recipe& recipe);

/// The factor of the learning rate before update `step` (from 1).
std::function<double(int64_t step)> schedule_factor(const Recipe& recipe, int64_t steps_per_epoch);

}  // namespace tapeless
