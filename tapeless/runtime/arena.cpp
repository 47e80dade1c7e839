// Arena: anonymous memory, asked for in huge pages. Mapping rounds up to whole huge pages from 2 MB
// on and aligns to them, since the kernel gives huge pages only to aligned ranges.
#include "tapeless/runtime/arena.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace tapeless {
namespace {

constexpr int64_t kHuge = int64_t{2} << 20;
constexpr int64_t kPage = 4096;

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void Arena::release() {
  if (data_) munmap(data_, static_cast<size_t>(mapped_));
  data_ = nullptr;
  bytes_ = mapped_ = 0;
}

void Arena::reserve(int64_t bytes) {
  if (bytes <= bytes_) return;
  release();
  const int64_t unit = bytes >= kHuge ? kHuge : kPage;
  const int64_t wanted = round_up(bytes, unit);
  const int64_t slack = unit == kHuge ? kHuge : 0;
  void* raw = mmap(nullptr, static_cast<size_t>(wanted + slack), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  auto* base = static_cast<std::byte*>(raw);
  if (slack) {
    const auto address = reinterpret_cast<int64_t>(base);
    const int64_t skip = round_up(address, kHuge) - address;
    if (skip > 0) munmap(base, static_cast<size_t>(skip));
    if (slack > skip) munmap(base + skip + wanted, static_cast<size_t>(slack - skip));
    base += skip;
    madvise(base, static_cast<size_t>(wanted), MADV_HUGEPAGE);
  }
  for (int64_t at = 0; at < wanted; at += kPage) base[at] = std::byte{0};
  data_ = base;
  bytes_ = mapped_ = wanted;
}

}  // namespace tapeless
