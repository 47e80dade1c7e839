// Attributes: printing and comparison.
#include "tapeless/ir/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tapeless {

namespace {

constexpr std::array<std::string_view, 9> kKindNames = {
    "a bool",  "an integer", "a real number", "a string", "a list of integers",
    "a shape", "a dtype",    "a function",    "a tensor"};

// Elements by dtype: reals in shortest form, integers and bools as they are.
std::string element_str(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::kBool) return t.get_int(i) != 0 ? "true" : "false";
  if (!is_float(t.dtype())) return fmt::format("{}", t.get_int(i));
  if (t.dtype() == DType::kF32) {
    float value = static_cast<float>(t.get(i));
    if (!std::isfinite(value)) return real_str(value);
    std::string out = fmt::format("{}", value);
    return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
  }
  return real_str(t.get(i));
}

// Words print bare: `{mode = infer}`.
bool is_word(const std::string& s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (s.empty() || !letter(s[0]) || s == "true" || s == "false" || s == "inf" || s == "nan")
    return false;
  return std::all_of(s.begin(), s.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string escape(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string tensor_str(const Tensor& t) {
  if (t.rank() == 0) return std::string(dtype_name(t.dtype())) + " " + element_str(t, 0);
  std::string out = "dense " + t.type_str() + " [";
  for (int64_t i = 0, n = t.numel(); i < n; ++i) out += (i > 0 ? ", " : "") + element_str(t, i);
  return out + "]";
}

}  // namespace

std::string_view attr_kind_name(AttrKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

AttrKind kind_of(const Attr& attr) { return static_cast<AttrKind>(attr.index()); }

std::string real_str(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string out = fmt::format("{}", value);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string attr_str(const Attr& attr) {
  struct Printer {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return real_str(d); }
    std::string operator()(const std::string& s) const {
      return is_word(s) ? s : "\"" + escape(s) + "\"";
    }
    std::string operator()(const Ints& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
    std::string operator()(const Shape& s) const { return shape_str(s); }
    std::string operator()(DType d) const { return std::string(dtype_name(d)); }
    std::string operator()(const FunctionRef& f) const { return "@" + f.name; }
    std::string operator()(const Tensor& t) const { return tensor_str(t); }
  };
  return std::visit(Printer{}, attr);
}

bool same_attr(const Attr& a, const Attr& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<Tensor>(&a)) return same_bits(*x, std::get<Tensor>(b));
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Tensor>)
          return false;
        else if constexpr (std::is_same_v<T, double>)
          return std::bit_cast<int64_t>(x) == std::bit_cast<int64_t>(std::get<double>(b));
        else
          return x == std::get<T>(b);
      },
      a);
}

}  // namespace tapeless
