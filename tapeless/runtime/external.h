#pragma once

#include <cstdint>

// What a user's C function sees. Copy this into C code as it is.
extern "C" {

// dtype: 0 f32, 1 f64, 2 bf16, 3 f16, 4 i32, 5 i64, 6 u8, 7 bool. Strides count elements.
struct TapelessTensor {
  void* data;
  int32_t dtype;
  int32_t rank;
  const int64_t* shape;
  const int64_t* strides;
};

// Fills the outputs (dense, allocated by the caller). Returns 0, or another number for a failure.
// May be called from several threads at once.
using TapelessExternalFn = int (*)(const TapelessTensor* inputs, int32_t input_count,
                                   TapelessTensor* outputs, int32_t output_count);
}

namespace tapeless {

using ExternalFn = TapelessExternalFn;

/// The function in a shared object, which stays loaded; in the running program where `library` is
/// empty. Null where it is not found: `error` (a buffer of that many bytes) then says why.
ExternalFn find_external(const char* symbol, const char* library, char* error, int64_t size);

}  // namespace tapeless
