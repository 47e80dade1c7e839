#pragma once

#include "tapeless/data/array_dataset.h"

namespace tapeless {

/// Images with labels in IDX files of the names that MNIST and Fashion-MNIST use.
struct ImageDataOptions {
  std::string name = "fashion-mnist";
  /// Looked in first; may be empty.
  std::string dir;
  Normalization normalization;
  /// Labels lie in [0, classes); 0 takes the largest training label.
  int64_t classes = 0;
  /// Height and width that images must have; empty takes them as they are.
  Extents size;
  /// Only the first rows; 0 is all.
  int64_t limit = 0;
};

/// `x` f32[N, 1, H, W] and `y` i32[N] each.
struct ImageData {
  std::shared_ptr<ArrayDataset> train;
  std::shared_ptr<ArrayDataset> test;
  int64_t classes = 0;
  std::vector<std::string> class_names;
};

/// Finds, reads (in parallel) and checks everything.
ImageData load_image_data(const ImageDataOptions& options);

}  // namespace tapeless
