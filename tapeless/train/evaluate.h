#pragma once

#include <limits>

#include "tapeless/data/dataset.h"
#include "tapeless/train/entry_call.h"

namespace tapeless {

struct Evaluation {
  double loss = std::numeric_limits<double>::quiet_NaN();      // sum / weight over all rows
  double accuracy = std::numeric_limits<double>::quiet_NaN();  // NaN where the loss counts none
  int64_t rows = 0;
  double seconds = 0;
};

/// Runs `eval_step` over all rows in order. The call keeps its workspace for the next evaluation.
Evaluation evaluate(EntryCall& eval_step, std::shared_ptr<const Dataset> data, int64_t batch);

/// What a classifier answers for every row.
struct Answers {
  std::vector<int64_t> labels, predicted;
  std::vector<double> confidence;  // of the predicted class
  std::vector<int64_t> confusion;  // [classes, classes], rows are labels
  int64_t classes = 0;
};
Answers classify(EntryCall& infer, std::shared_ptr<const Dataset> data, int64_t batch);

}  // namespace tapeless
