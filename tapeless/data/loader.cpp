// Batches ahead of time: a thread fills one of two slots while the caller holds the other.
#include "tapeless/data/loader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "tapeless/data/order.h"
#include "tapeless/support/diagnostics.h"

namespace tapeless {

class Loader::Prefetcher {
 public:
  Prefetcher(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
      : dataset_(std::move(dataset)), options_(options) {
    TL_CHECK(options_.batch > 0);
    cursor_.rows = dataset_->rows();
    cursor_.seed = options_.seed;
    if (batches_per_epoch() == 0)
      data_error("{} rows make no batch of {}", dataset_->rows(), options_.batch);
    position_ = cursor_;
    start();
  }
  ~Prefetcher() { stop(); }

  int64_t batches_per_epoch() const {
    bool drop = options_.last_batch == LastBatch::kDrop;
    return (dataset_->rows() + (drop ? 0 : options_.batch - 1)) / options_.batch;
  }

  const Batch* next() {
    Slot& held = slots_[taken_];
    if (holding_ && held.error) std::rethrow_exception(held.error);
    if (holding_ && held.last && !told_end_) {
      told_end_ = true;
      return nullptr;
    }
    std::unique_lock lock(mutex_);
    if (holding_) {
      held.full = false;
      taken_ ^= 1;
      changed_.notify_all();
    }
    holding_ = true;
    told_end_ = false;
    Slot& slot = slots_[taken_];
    if (!slot.full) {
      auto begin = std::chrono::steady_clock::now();
      changed_.wait(lock, [&] { return slot.full; });
      waited_ += std::chrono::steady_clock::now() - begin;
    }
    if (slot.error) std::rethrow_exception(slot.error);
    position_ = slot.after;
    return &slot.batch;
  }

  void seek(const DataPosition& position) {
    if (position.rows != dataset_->rows())
      data_error("the position is one of {} rows, the data have {}", position.rows,
                 dataset_->rows());
    if (position.seed != options_.seed)
      data_error("the position is one of seed {}, the data are shuffled by {}", position.seed,
                 options_.seed);
    if (position.epoch < 0 || position.row < 0 || position.row >= position.rows)
      data_error("no such position in the data: epoch {}, row {}", position.epoch, position.row);
    stop();
    cursor_ = position_ = position;
    start();
  }

  const DataPosition& position() const { return position_; }
  double waited_seconds() const { return waited_.count(); }

 private:
  struct Slot {
    Batch batch;
    DataPosition after;
    bool last = false;
    bool full = false;
    std::exception_ptr error;
  };

  void start() {
    stopping_ = false;
    holding_ = told_end_ = false;
    taken_ = 0;
    for (Slot& slot : slots_) {
      slot.full = slot.last = false;
      slot.error = nullptr;
    }
    worker_ = std::thread([this] { fill_slots(); });
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    worker_.join();
  }

  void fill_slots() {
    for (size_t index = 0;; index ^= 1) {
      Slot& slot = slots_[index];
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || !slot.full; });
        if (stopping_) return;
      }
      try {
        fill(slot);
      } catch (...) {
        slot.error = std::current_exception();
      }
      std::lock_guard lock(mutex_);
      slot.full = true;
      changed_.notify_all();
      if (slot.error) return;
    }
  }

  void fill(Slot& slot) {
    if (order_.empty() || order_epoch_ != cursor_.epoch) make_order();
    int64_t count = std::min(options_.batch, cursor_.rows - cursor_.row);
    dataset_->gather({order_.data() + cursor_.row, static_cast<size_t>(count)}, slot.batch);
    cursor_.row += count;
    int64_t left = cursor_.rows - cursor_.row;
    slot.last = left == 0 || (left < options_.batch && options_.last_batch == LastBatch::kDrop);
    if (slot.last) {
      ++cursor_.epoch;
      cursor_.row = 0;
    }
    slot.after = cursor_;
  }

  void make_order() {
    if (options_.shuffle) {
      order_ = epoch_order(cursor_.rows, options_.seed, cursor_.epoch);
    } else if (order_.empty()) {
      order_.resize(static_cast<size_t>(cursor_.rows));
      std::iota(order_.begin(), order_.end(), 0);
    }
    order_epoch_ = cursor_.epoch;
  }

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;

  // The worker's: where the next batch begins, and the order of that epoch.
  DataPosition cursor_;
  std::vector<int64_t> order_;
  int64_t order_epoch_ = 0;

  // The caller's.
  DataPosition position_;
  size_t taken_ = 0;
  bool holding_ = false;
  bool told_end_ = false;
  std::chrono::duration<double> waited_{0};

  // A slot belongs to the worker while it is not full, else to the caller.
  std::array<Slot, 2> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread worker_;
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
    : prefetcher_(std::make_unique<Prefetcher>(std::move(dataset), options)) {}
Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;

const Batch* Loader::next() { return prefetcher_->next(); }
DataPosition Loader::position() const { return prefetcher_->position(); }
void Loader::seek(const DataPosition& position) { prefetcher_->seek(position); }
int64_t Loader::batches_per_epoch() const { return prefetcher_->batches_per_epoch(); }
double Loader::waited_seconds() const { return prefetcher_->waited_seconds(); }

}  // namespace tapeless
