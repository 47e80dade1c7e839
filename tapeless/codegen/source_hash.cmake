# Writes source_hash.h: a hash of the sources that decide what code a kernel becomes. It is part of
# every key of the object cache, so that a changed compiler never meets old code.
set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 hash "${all}${LLVM}")
file(WRITE ${OUT} "#pragma once

namespace tapeless::codegen {
inline constexpr const char* kSourceHash = \"${hash}\";
}
")
