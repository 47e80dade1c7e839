#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace tapeless {

/// A broken invariant of Tapeless itself: always a bug of ours, never a user's mistake.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);
inline std::string check_message() { return {}; }
template <class... Args>
std::string check_message(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
}  // namespace detail

}  // namespace tapeless

/// Always on. The message is built only when the check fails.
#define TL_CHECK(condition, ...)                                                        \
  do {                                                                                  \
    if (!(condition)) [[unlikely]]                                                      \
      ::tapeless::detail::check_failed(__FILE__, __LINE__, #condition,                  \
                                       ::tapeless::detail::check_message(__VA_ARGS__)); \
  } while (false)
