#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tapeless/tensor/tensor.h"
#include "tapeless/train/metrics.h"

namespace tapeless {

struct WrongImage {
  Tensor pixels;  // see encode_png
  int64_t row = 0;
  int64_t label = 0;
  int64_t predicted = 0;
  double confidence = 0;  // of the prediction, 0 to 1
};

/// What a run's page shows. Parts that are empty are left out.
struct Report {
  std::string title;
  /// Shown at the top, largest: "test accuracy", "91.9 %".
  std::vector<std::pair<std::string, std::string>> facts;
  History history;
  std::vector<std::string> class_names;
  std::vector<int64_t> confusion;  // [classes, classes]; rows are labels, columns predictions
  std::vector<WrongImage> wrong;
  std::string recipe;
};

/// One HTML file that needs nothing else: no script, no font, no image beside it.
std::string report_html(const Report& report);
void write_report(const std::string& path, const Report& report);

}  // namespace tapeless
