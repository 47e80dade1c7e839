// Sizes, types and attributes of the text form.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "tapeless/ir/op_def.h"
#include "tapeless/text/parser.h"

namespace tapeless {

namespace {

constexpr int kMaxDepth = 64;

std::vector<std::string> keys(const std::map<std::string, Dim>& map) {
  std::vector<std::string> out;
  for (const auto& [key, value] : map) out.push_back(key);
  return out;
}

std::string did_you_mean(const std::string& near) {
  return near.empty() ? std::string() : ", did you mean `" + near + "`?";
}

bool is_whole(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

int64_t TypeParser::integer() {
  const Token& token = t_.expect(TokenKind::kNumber, "a whole number");
  int64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  auto result = std::from_chars(token.text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end)
    compile_error(t_.loc(token), "expected a whole number, got {}", token.str());
  return value;
}

Dim TypeParser::dim_atom() {
  if (t_.at(TokenKind::kNumber)) return integer();
  if (t_.accept("(")) {
    Dim inner = dim();
    t_.expect(")");
    return inner;
  }
  const Token& token = t_.expect(TokenKind::kWord, "a size");
  auto found = symbols_.known.find(token.text);
  if (found != symbols_.known.end()) return found->second;
  if (!symbols_.open)
    compile_error(t_.loc(token), "unknown symbol `{}`: no parameter has it{}", token.text,
                  did_you_mean(nearest(token.text, keys(symbols_.known))));
  return symbols_.known.emplace(token.text, Dim::symbol(token.text)).first->second;
}

Dim TypeParser::product() {
  bool negative = t_.accept("-");
  Dim out = dim_atom();
  while (t_.at("*") || t_.at("//")) {
    if (t_.next().is("*")) {
      out = out * dim_atom();
      continue;
    }
    Loc loc = t_.loc();
    int64_t divisor = integer();
    if (divisor <= 0) compile_error(loc, "a size is divided by {}", divisor);
    out = floordiv(out, divisor);
  }
  return negative ? Dim(0) - out : out;
}

Dim TypeParser::dim() {
  if (++depth_ > kMaxDepth) compile_error(t_.loc(), "this size is nested too deeply");
  Dim out = product();
  while (t_.at("+") || t_.at("-")) {
    bool minus = t_.next().is("-");
    Dim term = product();
    out = minus ? out - term : out + term;
  }
  --depth_;
  return out;
}

Dim TypeParser::bounded_dim() {
  Loc loc = t_.loc();
  Dim out = dim();
  if (!t_.at("<=")) return out;
  auto symbol = out.as_symbol();
  if (!symbol || symbols_.bounds == nullptr)
    compile_error(t_.loc(), "a bound belongs to a lone symbol of a parameter");
  t_.next();
  int64_t bound = integer();
  auto [at, fresh] = symbols_.bounds->emplace(*symbol, bound);
  if (!fresh && at->second != bound)
    compile_error(loc, "symbol {} has two bounds: {} and {}", *symbol, at->second, bound);
  return out;
}

Shape TypeParser::shape() {
  Shape out;
  t_.expect("[");
  while (!t_.at("]")) {
    out.push_back(bounded_dim());
    if (!t_.accept(",")) break;
  }
  t_.expect("]");
  return out;
}

Type TypeParser::type() {
  Type out;
  if (t_.accept("row_sparse")) {
    t_.expect("<");
    out.rows = bounded_dim();
    t_.expect(">");
    out.row_sparse = true;
  }
  const Token& token = t_.expect(TokenKind::kWord, "a type");
  auto dtype = parse_dtype(token.text);
  if (!dtype)
    compile_error(t_.loc(token), "unknown dtype `{}`: f32 f64 bf16 f16 i32 i64 u8 bool key",
                  token.text);
  out.dtype = *dtype;
  if (*dtype != DType::kKey || t_.at("[")) out.shape = shape();
  if (out.row_sparse && out.shape.empty())
    compile_error(t_.loc(token), "a row_sparse tensor has at least one dimension");
  return out;
}

bool TypeParser::at_number() const {
  const Token& token = t_.peek(t_.at("-") ? 1 : 0);
  return token.kind == TokenKind::kNumber || token.is("inf") || token.is("nan");
}

Attr TypeParser::number() {
  bool negative = t_.accept("-");
  const Token& token = t_.next();
  if (token.is("inf") || token.is("nan")) {
    double value = token.is("inf") ? std::numeric_limits<double>::infinity()
                                   : std::numeric_limits<double>::quiet_NaN();
    return std::copysign(value, negative ? -1.0 : 1.0);
  }
  if (token.kind != TokenKind::kNumber)
    compile_error(t_.loc(token), "expected a number, got {}", token.str());
  std::string text = (negative ? "-" : "") + token.text;
  const char* end = text.data() + text.size();
  if (is_whole(token.text)) {
    int64_t value = 0;
    if (std::from_chars(text.data(), end, value).ec == std::errc()) return value;
    compile_error(t_.loc(token), "{} does not fit into 64 bits", text);
  }
  double value = 0;
  if (std::from_chars(text.data(), end, value).ec == std::errc()) return value;
  compile_error(t_.loc(token), "{} does not fit into a double", text);
}

// `[0, -1]` or `[B, 4]`: integers where all are numbers.
Attr TypeParser::list() {
  Shape dims = shape();
  Ints ints;
  for (const Dim& d : dims) {
    if (!d.is_constant()) return dims;
    ints.push_back(d.constant());
  }
  return ints;
}

// An f32 is read as a float at once: reading it as a double first would round twice.
void TypeParser::element(Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kBool && (t_.at("true") || t_.at("false")))
    return tensor.set_int(i, t_.next().is("true") ? 1 : 0);
  const Token& token = t_.peek(t_.at("-") ? 1 : 0);
  std::string text = (t_.at("-") ? "-" : "") + token.text;
  Loc loc = t_.loc();
  if (!at_number()) t_.unexpected("a number");
  Attr value = number();
  float single = 0;
  if (tensor.dtype() == DType::kF32 && token.kind == TokenKind::kNumber &&
      std::from_chars(text.data(), text.data() + text.size(), single).ec == std::errc())
    return tensor.set(i, single);
  if (const auto* integer = std::get_if<int64_t>(&value))
    return is_float(tensor.dtype()) ? tensor.set(i, static_cast<double>(*integer))
                                    : tensor.set_int(i, *integer);
  if (!is_float(tensor.dtype()))
    compile_error(loc, "{} is no element of {}", attr_str(value), tensor.type_str());
  tensor.set(i, std::get<double>(value));
}

Tensor TypeParser::scalar_tensor(DType dtype) {
  Tensor out(dtype, {});
  element(out, 0);
  return out;
}

// `dense f32[2] [1.0, 2.0]`. The elements are counted before memory is taken for them.
Tensor TypeParser::dense_tensor() {
  Loc loc = t_.loc();
  Type declared = type();
  int64_t room = 1;
  Extents extents;
  for (const Dim& d : declared.shape) {
    if (!d.is_constant() || d.constant() < 0 || __builtin_mul_overflow(room, d.constant(), &room))
      compile_error(loc, "a dense tensor needs sizes that are numbers, got {}", declared.str());
    extents.push_back(d.constant());
  }
  t_.expect("[");
  size_t start = t_.position();
  int64_t count = t_.at("]") ? 0 : 1;
  for (; !t_.at("]") && !t_.at(TokenKind::kEnd); t_.next()) count += t_.at(",") ? 1 : 0;
  if (count != room || declared.row_sparse || declared.dtype == DType::kKey)
    compile_error(loc, "{} takes {} elements, got {}", declared.str(), room, count);
  t_.seek(start);
  Tensor out(declared.dtype, extents);
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) t_.expect(",");
    element(out, i);
  }
  t_.expect("]");
  return out;
}

Attr TypeParser::word_attr(std::optional<AttrKind> want) {
  if (want != AttrKind::kString) {
    if (t_.accept("true")) return true;
    if (t_.accept("false")) return false;
    if (t_.accept("dense")) return dense_tensor();
    if (auto dtype = parse_dtype(t_.peek().text)) {
      t_.next();
      bool tensor = at_number() || (*dtype == DType::kBool && (t_.at("true") || t_.at("false")));
      if (tensor && *dtype != DType::kKey) return scalar_tensor(*dtype);
      return *dtype;
    }
  }
  return t_.next().text;
}

Attr TypeParser::attr(std::optional<AttrKind> want) {
  if (t_.at("[")) return list();
  if (t_.at(TokenKind::kString)) return t_.next().text;
  if (t_.at(TokenKind::kFunction)) return FunctionRef{t_.next().text};
  if (at_number() && want != AttrKind::kString) return number();
  if (t_.at(TokenKind::kWord)) return word_attr(want);
  t_.unexpected("the value of an attribute");
}

AttrMap TypeParser::attrs(const OpDef* def) {
  AttrMap out;
  t_.expect("{");
  while (!t_.at("}")) {
    const Token& key = t_.expect(TokenKind::kWord, "the name of an attribute");
    t_.expect("=");
    const AttrDef* known = def != nullptr ? def->find_attr(key.text) : nullptr;
    Attr value = attr(known != nullptr ? std::optional(known->kind) : std::nullopt);
    if (!out.emplace(key.text, std::move(value)).second)
      compile_error(t_.loc(key), "attribute `{}` is given twice", key.text);
    if (!t_.accept(",")) break;
  }
  t_.expect("}");
  return out;
}

}  // namespace tapeless
