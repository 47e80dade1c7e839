// The integer after each one; refuses negative ones.
#include "tapeless/runtime/external.h"

extern "C" int next(const TapelessTensor* inputs, int32_t, TapelessTensor* outputs, int32_t) {
  const auto* x = static_cast<const int64_t*>(inputs[0].data);
  auto* y = static_cast<int64_t*>(outputs[0].data);
  for (int64_t i = 0; i < inputs[0].shape[0]; ++i) {
    if (x[i] < 0) return 7;
    y[i] = x[i] + 1;
  }
  return 0;
}
