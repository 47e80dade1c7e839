#pragma once

#include <memory>

#include "tapeless/data/dataset.h"

namespace tapeless {

enum class LastBatch : uint8_t { kKeep, kDrop };

struct LoaderOptions {
  int64_t batch = 64;
  bool shuffle = true;
  uint64_t seed = 0;
  LastBatch last_batch = LastBatch::kKeep;
};

/// Where a run stands in its data: `row` rows of epoch `epoch` have been given out. The other two
/// say which order that is, and must match to go on.
struct DataPosition {
  int64_t epoch = 0;
  int64_t row = 0;
  int64_t rows = 0;
  uint64_t seed = 0;

  bool operator==(const DataPosition&) const = default;
};

/// Batches of a dataset, epoch after epoch. A thread fills the next batch while the caller uses
/// this one. The sequence depends on the options alone.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options);
  ~Loader();
  Loader(Loader&&) noexcept;

  /// The next batch, valid until the next call; null once at the end of each epoch, after which the
  /// next epoch begins. What the dataset throws is thrown here.
  const Batch* next();

  /// The place after the last batch that `next` gave; after an epoch's last one, the next epoch.
  DataPosition position() const;
  /// Goes on from there. Of another seed or number of rows: DataError.
  void seek(const DataPosition& position);

  int64_t batches_per_epoch() const;
  /// How long `next` has had to wait for data, in total.
  double waited_seconds() const;

 private:
  class Prefetcher;
  std::unique_ptr<Prefetcher> prefetcher_;
};

}  // namespace tapeless
