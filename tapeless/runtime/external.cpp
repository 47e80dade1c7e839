// Functions that users bring: looked up in shared objects by the dynamic loader.
#include "tapeless/runtime/external.h"

#include <dlfcn.h>

#include <cstdio>

namespace tapeless {

ExternalFn find_external(const char* symbol, const char* library, char* error, int64_t size) {
  void* handle = dlopen(library[0] == '\0' ? nullptr : library, RTLD_NOW | RTLD_LOCAL);
  void* found = handle == nullptr ? nullptr : dlsym(handle, symbol);
  if (found == nullptr) {
    const char* reason = dlerror();
    std::snprintf(error, static_cast<size_t>(size), "%s",
                  reason != nullptr ? reason : "the symbol is null");
  }
  return reinterpret_cast<ExternalFn>(found);
}

}  // namespace tapeless
