// Image datasets in IDX files: read the four files at once, check them against each other.
#include "tapeless/data/image_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <ranges>

#include "tapeless/data/find_data.h"
#include "tapeless/data/idx.h"
#include "tapeless/support/diagnostics.h"

namespace tapeless {

namespace {

struct Part {
  std::string images_path;
  std::string labels_path;
  Tensor images;  // u8[N, 1, H, W]
  Tensor labels;  // i32[N]
};

std::vector<std::string> class_names(const std::string& dataset, int64_t classes) {
  if (dataset == "fashion-mnist" && classes == 10)
    return {"T-shirt", "Trouser", "Pullover", "Dress", "Coat",
            "Sandal",  "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  std::vector<std::string> names;
  for (int64_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

Tensor first_rows(const Tensor& all, int64_t rows) {
  if (rows == 0 || rows >= all.dim(0)) return all;
  Extents shape = all.shape();
  shape[0] = rows;
  return Tensor::view(all.dtype(), shape, all.strides(), all.raw(), std::make_shared<Tensor>(all));
}

Part read_part(const std::string& folder, const std::string& prefix,
               const ImageDataOptions& options) {
  Part part{data_file(folder, prefix + "-images-idx3-ubyte"),
            data_file(folder, prefix + "-labels-idx1-ubyte"),
            {},
            {}};
  Tensor images = read_idx(part.images_path);
  if (images.rank() != 3 || images.dtype() != DType::kU8)
    data_error("{}: images must be u8[N, height, width], not {}", part.images_path,
               images.type_str());
  if (!options.size.empty() &&
      (images.dim(1) != options.size[0] || images.dim(2) != options.size[1]))
    data_error("{}: images of {} x {}, {} x {} expected", part.images_path, images.dim(1),
               images.dim(2), options.size[0], options.size[1]);
  Tensor labels = read_idx(part.labels_path);
  if (labels.rank() != 1 || !is_integer(labels.dtype()))
    data_error("{}: labels must be integers of rank 1, not {}", part.labels_path,
               labels.type_str());
  if (labels.dim(0) != images.dim(0))
    data_error("{} labels in {}, but {} images in {}", labels.dim(0), part.labels_path,
               images.dim(0), part.images_path);
  if (labels.dim(0) == 0) data_error("{}: no images", part.images_path);
  images = first_rows(images, options.limit);
  part.images = images.reshaped({images.dim(0), 1, images.dim(1), images.dim(2)});
  part.labels = first_rows(labels.cast(DType::kI32), options.limit);
  return part;
}

void check_labels(const Part& part, int64_t classes) {
  const int32_t* labels = part.labels.data<int32_t>();
  for (int64_t row = 0; row < part.labels.dim(0); ++row)
    if (labels[row] < 0 || labels[row] >= classes)
      data_error("{}: row {} has the label {}, which is not in [0, {})", part.labels_path, row,
                 labels[row], classes);
}

std::shared_ptr<ArrayDataset> dataset(const Part& part, const Normalization& normalization) {
  auto result = std::make_shared<ArrayDataset>();
  result->add_pixels("x", part.images, normalization);
  result->add_column("y", part.labels);
  return result;
}

}  // namespace

ImageData load_image_data(const ImageDataOptions& options) {
  std::string folder = find_data_folder(options.dir, options.name, "train-images-idx3-ubyte");
  auto reading = std::async(std::launch::async, [&] { return read_part(folder, "t10k", options); });
  Part train = read_part(folder, "train", options);
  Part test = reading.get();
  if (!std::ranges::equal(train.images.shape() | std::views::drop(1),
                          test.images.shape() | std::views::drop(1)))
    data_error("{} holds {}, but {} holds {}", train.images_path, train.images.type_str(),
               test.images_path, test.images.type_str());
  ImageData data;
  data.classes = options.classes;
  if (data.classes == 0) {
    const int32_t* labels = train.labels.data<int32_t>();
    data.classes = int64_t{*std::max_element(labels, labels + train.labels.dim(0))} + 1;
  }
  check_labels(train, data.classes);
  check_labels(test, data.classes);
  data.train = dataset(train, options.normalization);
  data.test = dataset(test, options.normalization);
  data.class_names = class_names(options.name, data.classes);
  return data;
}

}  // namespace tapeless
