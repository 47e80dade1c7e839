#pragma once

#include <cstddef>
#include <cstdint>

namespace tapeless {

/// One block of memory, 64-byte aligned and zeroed, on huge pages where it is large; touched once.
class Arena {
 public:
  Arena() = default;
  explicit Arena(int64_t bytes) { reserve(bytes); }
  ~Arena() { release(); }
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// At least `bytes`. What the arena held is lost when it grows. Throws std::bad_alloc.
  void reserve(int64_t bytes);
  void release();

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  int64_t mapped_ = 0;
};

}  // namespace tapeless
