// y = x / 2; refuses a negative first element.
#include "tapeless/runtime/external.h"

extern "C" int halve(const TapelessTensor* inputs, int32_t, TapelessTensor* outputs, int32_t) {
  const auto* x = static_cast<const float*>(inputs[0].data);
  auto* y = static_cast<float*>(outputs[0].data);
  if (x[0] < 0) return 7;
  for (int64_t i = 0; i < inputs[0].shape[0]; ++i) y[i] = x[i] / 2;
  return 0;
}
