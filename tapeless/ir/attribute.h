#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tapeless/ir/dim.h"
#include "tapeless/tensor/tensor.h"

namespace tapeless {

/// The name of a function of the same module: `@name`.
struct FunctionRef {
  std::string name;
  friend bool operator==(const FunctionRef&, const FunctionRef&) = default;
};

using Ints = std::vector<int64_t>;

/// What an op is given beside its operands. Shapes may hold symbols, Ints may not.
using Attr =
    std::variant<bool, int64_t, double, std::string, Ints, Shape, DType, FunctionRef, Tensor>;

enum class AttrKind : uint8_t {
  kBool,
  kInt,
  kReal,
  kString,
  kInts,
  kShape,
  kDType,
  kFunction,
  kTensor
};

std::string_view attr_kind_name(AttrKind kind);
AttrKind kind_of(const Attr& attr);
/// As in the text form: `true`, `3`, `0.5`, `sum`, `"two words"`, `[0, 2]`, `[B, 4]`, `f32`, `@f`,
/// `f32 2.0` (a scalar tensor), `dense f32[2] [1.0, 2.0]`.
std::string attr_str(const Attr& attr);
bool same_attr(const Attr& a, const Attr& b);

/// Sorted by name. The builder fills in defaults: an op always has all of its attributes, but for
/// optional ones without a default.
using AttrMap = std::map<std::string, Attr, std::less<>>;

/// The shortest decimal that reads back as the same double, always with a point or an exponent.
std::string real_str(double value);

}  // namespace tapeless
