// Layers over the Builder: each makes its parameters, named as PyTorch names them, and its ops.
#include "tapeless/nn/layers.h"

#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"

namespace tapeless::nn {

Init Init::fan_in(int64_t fan_in) {
  return uniform(fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0);
}

Value* Layers::variable(const std::string& name, Shape shape, Init init, Role role) {
  if (b_.function().find_param(name) != nullptr)
    compile_error(b_.loc(), "two parameters are named %{}", name);
  Type type(DType::kF32, std::move(shape));
  variables_.push_back({name, type, role, init});
  return b_.function().add_param(name, type, role);
}

Value* Layers::param(const std::string& name, Shape shape, Init init) {
  return variable(name, std::move(shape), init, Role::kParam);
}

Value* Layers::state(const std::string& name, Shape shape, Init init) {
  return variable(name, std::move(shape), init, Role::kState);
}

int64_t Layers::fixed_size(const char* layer, const Value* x, int axis) {
  if (x->type.rank() <= axis || !x->type.shape[static_cast<size_t>(axis)].is_constant())
    compile_error(b_.loc(), "[{}] axis {} of {} must have a known size", layer, axis,
                  x->type.str());
  return x->type.shape[static_cast<size_t>(axis)].constant();
}

// y = x weight^T + bias, weight [features, in]
Value* Layers::linear(const std::string& name, Value* x, int64_t features, bool bias, Where at) {
  b_.set_loc(Loc::here(at));
  int64_t in = fixed_size("linear", x, x->type.rank() - 1);
  Value* weight = param(name + ".weight", {features, in}, Init::fan_in(in));
  Value* y = build::matmul(b_, x, weight, false, true);
  return bias ? build::add(b_, y, param(name + ".bias", {features}, Init::fan_in(in))) : y;
}

Value* Layers::conv2d(const std::string& name, Value* x, int64_t channels, int64_t kernel,
                      const Window& window, Where at) {
  b_.set_loc(Loc::here(at));
  int64_t in = fixed_size("conv2d", x, 1) / window.groups;
  Init init = Init::fan_in(in * kernel * kernel);
  Value* weight = param(name + ".weight", {channels, in, kernel, kernel}, init);
  Value* y = b_.make(kConv2dOp, {x, weight},
                     {{"stride", Ints{window.stride, window.stride}},
                      {"padding", window.padding},
                      {"dilation", Ints{window.dilation, window.dilation}},
                      {"groups", window.groups}});
  if (!window.bias) return y;
  Value* bias = param(name + ".bias", {channels}, init);
  return build::add(b_, y, build::reshape(b_, bias, {channels, 1, 1}));
}

Value* Layers::batch_norm(const std::string& name, Value* x, double momentum, double eps,
                          Where at) {
  b_.set_loc(Loc::here(at));
  Shape channels{fixed_size("batch_norm", x, 1)};
  Value* weight = param(name + ".weight", channels, Init::ones());
  Value* bias = param(name + ".bias", channels, Init::zeros());
  Value* mean = state(name + ".running_mean", channels, Init::zeros());
  Value* variance = state(name + ".running_var", channels, Init::ones());
  return b_.make(kBatchNormOp, {x, weight, bias, mean, variance},
                 {{"eps", eps}, {"momentum", momentum}});
}

Value* Layers::layer_norm(const std::string& name, Value* x, double eps, Where at) {
  b_.set_loc(Loc::here(at));
  Shape last{fixed_size("layer_norm", x, x->type.rank() - 1)};
  Value* weight = param(name + ".weight", last, Init::ones());
  Value* bias = param(name + ".bias", last, Init::zeros());
  return b_.make(kLayerNormOp, {x, weight, bias}, {{"eps", eps}});
}

Value* Layers::dropout(Value* x, double rate, Where at) {
  b_.set_loc(Loc::here(at));
  return rate == 0 ? x : b_.make(kDropoutOp, {x}, {{"rate", rate}});
}

Value* Layers::window_op(const OpDef& op, Value* x, int64_t kernel, int64_t stride,
                         const Where& at) {
  b_.set_loc(Loc::here(at));
  if (stride == 0) stride = kernel;
  return b_.make_op(op, {x}, {{"kernel", Ints{kernel, kernel}}, {"stride", Ints{stride, stride}}})
      ->result();
}

Value* Layers::max_pool(Value* x, int64_t kernel, int64_t stride, Where at) {
  return window_op(kMaxPool2dOp, x, kernel, stride, at);
}

Value* Layers::avg_pool(Value* x, int64_t kernel, int64_t stride, Where at) {
  return window_op(kAvgPool2dOp, x, kernel, stride, at);
}

Value* Layers::relu(Value* x, Where at) {
  b_.set_loc(Loc::here(at));
  return b_.make(kReluOp, {x});
}

Value* Layers::gelu(Value* x, Where at) {
  b_.set_loc(Loc::here(at));
  return b_.make(kGeluOp, {x});
}

Value* Layers::sigmoid(Value* x, Where at) {
  b_.set_loc(Loc::here(at));
  return b_.make(kSigmoidOp, {x});
}

Value* Layers::tanh(Value* x, Where at) {
  b_.set_loc(Loc::here(at));
  return b_.make(kTanhOp, {x});
}

Value* Layers::add(Value* x, Value* y, Where at) {
  b_.set_loc(Loc::here(at));
  return build::add(b_, x, y);
}

Value* Layers::flatten(Value* x, Where at) {
  b_.set_loc(Loc::here(at));
  Dim rest = 1;
  for (size_t i = 1; i < x->type.shape.size(); ++i) rest = rest * x->type.shape[i];
  return build::reshape(b_, x, {x->type.shape[0], rest});
}

}  // namespace tapeless::nn
