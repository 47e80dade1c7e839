// The report of a run from its metrics and the answers of its model.
#include "tapeless/train/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tapeless/train/report.h"

namespace tapeless {

namespace {

constexpr size_t kWrongImages = 32;

// u8 [N, 1, H, W] -> u8 [H, W]
Tensor image(const Tensor& pixels, int64_t row) {
  int64_t height = pixels.dim(2), width = pixels.dim(3);
  auto* data = pixels.data<uint8_t>() + row * height * width;
  return Tensor::view(DType::kU8, {height, width}, {width, 1}, data,
                      std::make_shared<Tensor>(pixels));
}

std::vector<WrongImage> most_certain_mistakes(const Tensor& pixels, const Answers& answers) {
  std::vector<size_t> rows;
  for (size_t i = 0; i < answers.labels.size(); ++i)
    if (answers.labels[i] != answers.predicted[i]) rows.push_back(i);
  std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
    return answers.confidence[a] > answers.confidence[b];
  });
  rows.resize(std::min(rows.size(), kWrongImages));
  std::vector<WrongImage> wrong;
  for (size_t row : rows)
    wrong.push_back({.pixels = image(pixels, static_cast<int64_t>(row)),
                     .row = static_cast<int64_t>(row),
                     .label = answers.labels[row],
                     .predicted = answers.predicted[row],
                     .confidence = answers.confidence[row]});
  return wrong;
}

}  // namespace

void write_run_report(const std::string& folder, const Recipe& recipe, const TrainingData& data,
                      const Evaluation& test, const Answers& answers) {
  Report report;
  report.title = recipe.name;
  if (!std::isnan(test.accuracy))
    report.facts.emplace_back("test accuracy", fmt::format("{:.2f} %", 100 * test.accuracy));
  report.facts.emplace_back("test loss", fmt::format("{:.4f}", test.loss));
  report.facts.emplace_back("optimizer", recipe.optimizer.name);
  report.facts.emplace_back("batch", std::to_string(recipe.train.batch));
  report.history = read_metrics(folder + "/metrics.jsonl");
  if (static_cast<size_t>(answers.classes) == data.class_names.size()) {
    report.class_names = data.class_names;
    report.confusion = answers.confusion;
  }
  report.recipe = recipe.text;
  if (data.test_pixels.defined() && !report.class_names.empty())
    report.wrong = most_certain_mistakes(data.test_pixels, answers);
  write_report(folder + "/report.html", report);
}

}  // namespace tapeless
