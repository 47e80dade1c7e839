#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "tapeless/ir/builder.h"

namespace tapeless::nn {

/// How a parameter or state starts: drawn from a key or a constant.
struct Init {
  enum class Kind : uint8_t { kConstant, kUniform, kNormal };
  Kind kind = Kind::kConstant;
  double scale = 0;  // the constant; the bound of [-scale, scale]; the standard deviation

  static Init zeros() { return {Kind::kConstant, 0}; }
  static Init ones() { return {Kind::kConstant, 1}; }
  static Init uniform(double bound) { return {Kind::kUniform, bound}; }
  static Init normal(double deviation) { return {Kind::kNormal, deviation}; }
  /// PyTorch's default for weights and biases of linear and convolution:
  /// uniform in +-1/sqrt(fan_in) (kaiming_uniform with a = sqrt(5)).
  static Init fan_in(int64_t fan_in);
};

/// A parameter or state of a network, by the name users know: `conv1.weight`.
struct Variable {
  std::string name;
  Type type;
  Role role = Role::kParam;
  Init init;
};

/// Options of a convolution or a pooling window. Padding is [top, bottom, left, right].
struct Window {
  int64_t stride = 1;
  Ints padding = {0, 0, 0, 0};
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

/// Makes the layers of one function. A layer that has parameters takes a name; its parameters are
/// parameters of the function, named as PyTorch names them, and an op of the layer carries the
/// location of the C++ line that made it.
class Layers {
 public:
  using Where = std::source_location;

  Layers(Function& function, const Module& module) : b_(function, &module) {}

  /// For ops that have no layer here.
  Builder& builder() { return b_; }
  const std::vector<Variable>& variables() const { return variables_; }

  Value* param(const std::string& name, Shape shape, Init init);
  Value* state(const std::string& name, Shape shape, Init init);

  /// x [N, in] -> [N, features].
  Value* linear(const std::string& name, Value* x, int64_t features, bool bias = true,
                Where at = Where::current());
  /// x [N, C, H, W] -> [N, channels, H', W'] with a square kernel.
  Value* conv2d(const std::string& name, Value* x, int64_t channels, int64_t kernel,
                const Window& window = {}, Where at = Where::current());
  /// Normalises each channel (axis 1); running statistics are state.
  Value* batch_norm(const std::string& name, Value* x, double momentum = 0.1, double eps = 1e-5,
                    Where at = Where::current());
  /// Normalises over the last axis.
  Value* layer_norm(const std::string& name, Value* x, double eps = 1e-5,
                    Where at = Where::current());
  Value* dropout(Value* x, double rate, Where at = Where::current());
  /// Square windows; a stride of 0 is the kernel's size.
  Value* max_pool(Value* x, int64_t kernel, int64_t stride = 0, Where at = Where::current());
  Value* avg_pool(Value* x, int64_t kernel, int64_t stride = 0, Where at = Where::current());
  Value* relu(Value* x, Where at = Where::current());
  Value* gelu(Value* x, Where at = Where::current());
  Value* sigmoid(Value* x, Where at = Where::current());
  Value* tanh(Value* x, Where at = Where::current());
  Value* add(Value* x, Value* y, Where at = Where::current());
  /// [N, ...] -> [N, product of the rest].
  Value* flatten(Value* x, Where at = Where::current());

 private:
  Value* variable(const std::string& name, Shape shape, Init init, Role role);
  Value* window_op(const OpDef& op, Value* x, int64_t kernel, int64_t stride, const Where& at);
  /// A size that a parameter's shape is made of: a number.
  int64_t fixed_size(const char* layer, const Value* x, int axis);

  Builder b_;
  std::vector<Variable> variables_;
};

}  // namespace tapeless::nn
