// Failure of an always-on check: file, line, condition and message become an InternalError.
#include "tapeless/support/check.h"

#include <string_view>

namespace tapeless::detail {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::string_view path = file;
  if (auto at = path.rfind("tapeless/"); at != std::string_view::npos) path.remove_prefix(at);
  throw InternalError(fmt::format("internal error at {}:{}: check `{}` failed{}{}", path, line,
                                  condition, message.empty() ? "" : ": ", message));
}

}  // namespace tapeless::detail
