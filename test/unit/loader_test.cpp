// Loaders: order, last batches, going on from a position, prefetching, errors of the dataset.
#include "tapeless/data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "tapeless/data/array_dataset.h"
#include "tapeless/data/order.h"
#include "tapeless/support/diagnostics.h"

namespace tapeless {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<ArrayDataset> numbers(int64_t rows) {
  Tensor column(DType::kI64, {rows});
  for (int64_t i = 0; i < rows; ++i) column.set_int(i, i);
  auto dataset = std::make_shared<ArrayDataset>();
  dataset->add_column("i", column);
  return dataset;
}

std::vector<int64_t> values(const Batch& batch) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < batch.rows; ++i) all.push_back(batch.tensors[0].get_int(i));
  return all;
}

// The batches from here to the end of the epoch.
std::vector<std::vector<int64_t>> epoch(Loader& loader) {
  std::vector<std::vector<int64_t>> all;
  while (const Batch* batch = loader.next()) all.push_back(values(*batch));
  return all;
}

TEST(Order, IsAPermutationThatDependsOnSeedAndEpoch) {
  std::vector<int64_t> order = epoch_order(1000, 1, 0);
  EXPECT_EQ(order, epoch_order(1000, 1, 0));
  EXPECT_NE(order, epoch_order(1000, 1, 1));
  EXPECT_NE(order, epoch_order(1000, 2, 0));
  std::sort(order.begin(), order.end());
  std::vector<int64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
  // Fixed for good: a run that is resumed by a later version must see the same order.
  EXPECT_EQ(epoch_order(8, 42, 3), epoch_order(8, 42, 3));
}

TEST(Order, EveryPlaceIsEquallyLikely) {
  std::vector<int> first(5);
  for (int e = 0; e < 10000; ++e) ++first[static_cast<size_t>(epoch_order(5, 9, e)[0])];
  for (int count : first) EXPECT_NEAR(count, 2000, 200);
}

TEST(Order, Split) {
  RowSplit split = split_rows(101, 0.1, 5);
  EXPECT_EQ(split.validation.size(), 10U);
  EXPECT_EQ(split.train.size(), 91U);
  std::vector<int64_t> all = split.train;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  std::sort(all.begin(), all.end());
  for (int64_t i = 0; i < 101; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
  EXPECT_EQ(split_rows(101, 0.1, 5).validation, split.validation);
  EXPECT_TRUE(split_rows(7, 0, 5).validation.empty());
}

TEST(Order, Normal) {
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    double x = data_normal(1, 0, i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 20000, 0, 0.03);
  EXPECT_NEAR(squares / 20000, 1, 0.05);
}

TEST(Loader, LastBatchIsKeptOrDropped) {
  Loader keep(numbers(7), {.batch = 3, .shuffle = false});
  EXPECT_EQ(epoch(keep), (std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4, 5}, {6}}));
  EXPECT_EQ(epoch(keep).size(), 3U);
  EXPECT_EQ(keep.batches_per_epoch(), 3);
  Loader drop(numbers(7), {.batch = 3, .shuffle = false, .last_batch = LastBatch::kDrop});
  EXPECT_EQ(epoch(drop).size(), 2U);
  EXPECT_EQ(drop.batches_per_epoch(), 2);
  Loader whole(numbers(6), {.batch = 3, .shuffle = false, .last_batch = LastBatch::kDrop});
  EXPECT_EQ(epoch(whole).size(), 2U);
}

TEST(Loader, EpochsFollowTheSeededOrder) {
  Loader loader(numbers(10), {.batch = 4, .seed = 11});
  for (int e = 0; e < 3; ++e) {
    std::vector<int64_t> seen;
    for (const auto& batch : epoch(loader)) seen.insert(seen.end(), batch.begin(), batch.end());
    EXPECT_EQ(seen, epoch_order(10, 11, e));
  }
}

TEST(Loader, GoesOnFromEveryPosition) {
  for (LastBatch last : {LastBatch::kKeep, LastBatch::kDrop}) {
    LoaderOptions options{.batch = 3, .seed = 4, .last_batch = last};
    Loader whole(numbers(11), options);
    for (int step = 0; step < 12; ++step) {
      Loader resumed(numbers(11), options);
      resumed.seek(whole.position());
      const Batch* got = resumed.next();
      std::vector<int64_t> first = values(*got);
      const Batch* expected = whole.next();
      if (expected == nullptr) expected = whole.next();
      EXPECT_EQ(first, values(*expected)) << step;
      EXPECT_EQ(resumed.position(), whole.position());
    }
  }
}

TEST(Loader, RefusesForeignPositions) {
  Loader loader(numbers(10), {.batch = 4, .seed = 1});
  auto error = [&](DataPosition position) -> std::string {
    try {
      loader.seek(position);
    } catch (const DataError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error({.rows = 9, .seed = 1}), "the position is one of 9 rows, the data have 10");
  EXPECT_EQ(error({.rows = 10, .seed = 2}),
            "the position is one of seed 2, the data are shuffled by 1");
  EXPECT_EQ(error({.epoch = 0, .row = 10, .rows = 10, .seed = 1}),
            "no such position in the data: epoch 0, row 10");
  EXPECT_EQ(epoch(loader).size(), 3U);
  EXPECT_THROW(Loader(numbers(2), {.batch = 3, .last_batch = LastBatch::kDrop}), DataError);
  try {
    Loader none(numbers(0), {.batch = 3});
  } catch (const DataError& e) {
    EXPECT_STREQ(e.what(), "0 rows make no batch of 3");
  }
}

// Counts the batches that were asked of it, and fails at one row.
class Counting : public Dataset {
 public:
  explicit Counting(int64_t bad) : bad_(bad) {}
  int64_t rows() const override { return 8; }
  const std::vector<Field>& fields() const override { return fields_; }
  void gather(std::span<const int64_t> rows, Batch& out) const override {
    for (int64_t row : rows)
      if (row == bad_) data_error("row {} is bad", row);
    out.rows = static_cast<int64_t>(rows.size());
    out.resize(0, DType::kI64, {out.rows}).set_int(0, rows[0]);
    ++gathers;
  }
  mutable std::atomic<int> gathers = 0;

 private:
  int64_t bad_;
  std::vector<Field> fields_{{"i", DType::kI64, {}}};
};

TEST(Loader, FillsWhileTheCallerWorks) {
  auto dataset = std::make_shared<Counting>(-1);
  Loader loader(dataset, {.batch = 1, .shuffle = false});
  const Batch* held = loader.next();
  while (dataset->gathers < 2) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(held->tensors[0].get_int(0), 0);
  EXPECT_GE(loader.waited_seconds(), 0);
}

TEST(Loader, ErrorsOfTheDatasetReachTheCaller) {
  Loader loader(std::make_shared<Counting>(5), {.batch = 2, .shuffle = false});
  EXPECT_NE(loader.next(), nullptr);
  EXPECT_NE(loader.next(), nullptr);
  EXPECT_THROW(loader.next(), DataError);
  EXPECT_THROW(loader.next(), DataError);
  loader.seek({.epoch = 0, .row = 6, .rows = 8, .seed = 0});
  EXPECT_NE(loader.next(), nullptr);
}

TEST(Datasets, ColumnsSubsetsAndReusedBuffers) {
  auto random = random_dataset({.rows = 6, .features = 3, .classes = 2, .seed = 1});
  EXPECT_TRUE(same_bits(random->column(0), random_dataset({6, 3, 2, 1})->column(0)));
  SubsetDataset subset(random, {4, 2});
  EXPECT_EQ(subset.rows(), 2);
  Batch batch;
  subset.gather(std::vector<int64_t>{1, 0}, batch);
  EXPECT_EQ(batch.tensors[0].get(0), random->column(0).get(6));
  const void* buffer = batch.tensors[0].raw();
  subset.gather(std::vector<int64_t>{0}, batch);
  EXPECT_EQ(batch.tensors[0].raw(), buffer);
  EXPECT_EQ(batch.tensors[0].shape(), (Extents{1, 3}));
  try {
    random->add_column("z", Tensor(DType::kF32, {5}));
  } catch (const DataError& e) {
    EXPECT_STREQ(e.what(), "`z` has 5 rows, `x` has 6");
  }
}

}  // namespace
}  // namespace tapeless
