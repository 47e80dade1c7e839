#pragma once

#include <string>

#include "tapeless/train/build.h"
#include "tapeless/train/evaluate.h"

namespace tapeless {

/// Writes `<folder>/report.html` from the folder's metrics and what the model answers on the test
/// rows: the confusion matrix and its most certain mistakes.
void write_run_report(const std::string& folder, const Recipe& recipe, const TrainingData& data,
                      const Evaluation& test, const Answers& answers);

}  // namespace tapeless
