#pragma once

#include <string>
#include <string_view>

#include "tapeless/compiler/executable.h"
#include "tapeless/import/safetensors.h"

namespace tapeless {

/// The tensors of a training run by name: parameters and model state as users know them
/// (`conv1.weight`, `bn1.running_mean`), the optimizer's (`opt.conv1.weight.m`) and averaged
/// parameters (`ema.conv1.weight`). The calls of all entry points are bound to these buffers, so
/// going from training to evaluation copies nothing.
class State {
 public:
  /// Parameters and model state.
  const TensorMap& model() const { return model_; }
  /// All else that is kept between steps.
  const TensorMap& optimizer() const { return optimizer_; }
  void add_model(const std::string& name, Tensor tensor);
  void add_optimizer(const std::string& name, Tensor tensor);

  const Tensor* find(std::string_view name) const;
  /// The tensor; checked to exist.
  const Tensor& get(std::string_view name) const;
  /// Copies elements into the buffers of these names, which calls stay bound to. A DataError says
  /// which tensors differ; then nothing is copied.
  void assign(const TensorMap& model, const TensorMap& optimizer, const std::string& source);
  void assign_model(const TensorMap& model, const std::string& source);

  /// Binds every parameter of role param or state. With `averaged`, a parameter that has an average
  /// gets that.
  void bind(Call& call, const Executable& executable, std::string_view entry,
            bool averaged = false) const;

 private:
  TensorMap model_, optimizer_;
};

}  // namespace tapeless
