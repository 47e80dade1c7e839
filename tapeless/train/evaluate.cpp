// Whole passes over a dataset through entry points that change nothing.
#include "tapeless/train/evaluate.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

#include "tapeless/support/diagnostics.h"

namespace tapeless {

namespace {

// Consecutive batches, the last one smaller.
void for_each_batch(const Dataset& data, int64_t batch,
                    const std::function<void(const Batch&)>& f) {
  std::vector<int64_t> rows;
  Batch out;
  for (int64_t begin = 0; begin < data.rows(); begin += batch) {
    rows.resize(static_cast<size_t>(std::min(batch, data.rows() - begin)));
    std::iota(rows.begin(), rows.end(), begin);
    data.gather(rows, out);
    f(out);
  }
}

}  // namespace

Evaluation evaluate(EntryCall& eval_step, std::shared_ptr<const Dataset> data, int64_t batch) {
  auto begin = std::chrono::steady_clock::now();
  double loss = 0, weight = 0, correct = 0;
  bool counts = eval_step.has_result("correct");
  for_each_batch(*data, batch, [&](const Batch& b) {
    eval_step.set_inputs(b.tensors);
    eval_step.run();
    loss += eval_step.result(0).get(0);
    weight += eval_step.result(1).get(0);
    if (counts) correct += eval_step.scalar("correct");
  });
  Evaluation result;
  result.rows = data->rows();
  result.loss = weight == 0 ? 0 : loss / weight;
  if (counts) result.accuracy = correct / static_cast<double>(std::max<int64_t>(result.rows, 1));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

Answers classify(EntryCall& infer, std::shared_ptr<const Dataset> data, int64_t batch) {
  Answers answers;
  for_each_batch(*data, batch, [&](const Batch& b) {
    infer.set_inputs({b.tensors.at(0)});
    infer.run();
    Tensor y = infer.result(0);
    if (y.rank() != 2) data_error("a classifier gives [rows, classes], got {}", y.type_str());
    int64_t classes = answers.classes = y.dim(1);
    answers.confusion.resize(static_cast<size_t>(classes * classes));
    for (int64_t row = 0; row < y.dim(0); ++row) {
      int64_t best = 0;
      for (int64_t c = 1; c < classes; ++c)
        if (y.get(row * classes + c) > y.get(row * classes + best)) best = c;
      int64_t label = b.tensors.at(1).get_int(row);
      answers.labels.push_back(label);
      answers.predicted.push_back(best);
      answers.confidence.push_back(y.get(row * classes + best));
      if (label >= 0 && label < classes) ++answers.confusion[size_t(label * classes + best)];
    }
  });
  return answers;
}

}  // namespace tapeless
