// Calls of C functions by the interpreter.
#include "tapeless/interp/external.h"

#include <array>

#include "tapeless/runtime/external.h"

namespace tapeless {

namespace {

std::vector<TapelessTensor> c_tensors(std::span<const Tensor> tensors) {
  std::vector<TapelessTensor> out;
  for (const Tensor& t : tensors)
    out.push_back(
        {t.raw(), static_cast<int32_t>(t.dtype()), t.rank(), t.shape().data(), t.strides().data()});
  return out;
}

}  // namespace

std::vector<Tensor> call_external(const Function& function, std::span<const Tensor> arguments,
                                  std::vector<Tensor> results) {
  const External& external = *function.external;
  std::array<char, 512> reason{};
  ExternalFn call = find_external(external.symbol.c_str(), external.library.c_str(), reason.data(),
                                  reason.size());
  if (call == nullptr)
    compile_error(function.loc, "no C function `{}` for @{}: {}", external.symbol, function.name,
                  reason.data());
  std::vector<TapelessTensor> in = c_tensors(arguments), out = c_tensors(results);
  int status = call(in.data(), static_cast<int32_t>(in.size()), out.data(),
                    static_cast<int32_t>(out.size()));
  if (status != 0) data_error("@{}: its C function failed with status {}", function.name, status);
  return results;
}

}  // namespace tapeless
