// Expressions: element types, opcodes, and the constructors that fold trivial cases, so that index
// arithmetic written naturally comes out minimal. Folding moves broadcasts outwards (uniform values
// stay scalar) and keeps affine vectors as ramps: that is all that vectorisation needs.
#include <algorithm>
#include <array>
#include <bit>

#include "tapeless/loop/loop.h"
#include "tapeless/support/check.h"
#include "tapeless/tensor/dtype.h"

namespace tapeless::loop {
namespace {

struct PrimInfo {
  const char* name;
  int arity;
};

constexpr std::array<PrimInfo, static_cast<int>(Prim::kRsqrt) + 1> kPrims = {{
    {"add", 2},    {"sub", 2},  {"mul", 2},   {"div", 2},     {"floordiv", 2}, {"floormod", 2},
    {"min", 2},    {"max", 2},  {"neg", 1},   {"abs", 1},     {"fma", 3},      {"sqrt", 1},
    {"floor", 1},  {"ceil", 1}, {"trunc", 1}, {"round", 1},   {"eq", 2},       {"ne", 2},
    {"lt", 2},     {"le", 2},   {"gt", 2},    {"ge", 2},      {"isnan", 1},    {"and", 2},
    {"or", 2},     {"xor", 2},  {"not", 1},   {"shl", 2},     {"shr", 2},      {"mulhi", 2},
    {"select", 3}, {"exp", 1},  {"log", 1},   {"log1p", 1},   {"expm1", 1},    {"sin", 1},
    {"cos", 1},    {"tanh", 1}, {"erf", 1},   {"sigmoid", 1}, {"pow", 2},      {"rsqrt", 1},
}};

struct ElemInfo {
  const char* name;
  int bytes;
};

constexpr std::array<ElemInfo, static_cast<int>(Elem::kBool) + 1> kElems = {{
    {"f32", 4},
    {"f64", 8},
    {"bf16", 2},
    {"f16", 2},
    {"i32", 4},
    {"i64", 8},
    {"u8", 1},
    {"u32", 4},
    {"u64", 8},
    {"bool", 1},
}};

Expr make(ExprNode node) { return Expr(std::make_shared<const ExprNode>(std::move(node))); }

// The value as it wraps in an element of this type.
int64_t wrap(Elem elem, int64_t v) {
  switch (elem) {
    case Elem::kI32:
      return static_cast<int32_t>(v);
    case Elem::kU32:
      return static_cast<uint32_t>(v);
    case Elem::kU8:
      return static_cast<uint8_t>(v);
    case Elem::kBool:
      return v != 0;
    default:
      return v;
  }
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

bool less(Elem elem, int64_t a, int64_t b) {
  return is_signed(elem) ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}

// a op b for two integers (or bools) of `elem`, where it is worth folding.
std::optional<int64_t> fold_integers(Prim op, Elem elem, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
    case Prim::kAdd:
      return wrap(elem, static_cast<int64_t>(ua + ub));
    case Prim::kSub:
      return wrap(elem, static_cast<int64_t>(ua - ub));
    case Prim::kMul:
      return wrap(elem, static_cast<int64_t>(ua * ub));
    case Prim::kFloorDiv:
      if (b == 0) return 0;  // as compiled code does
      if (b < 0 || (elem == Elem::kU64 && a < 0)) return std::nullopt;
      return floor_div(a, b);
    case Prim::kFloorMod:
      if (b == 0) return 0;
      if (b < 0 || (elem == Elem::kU64 && a < 0)) return std::nullopt;
      return a - floor_div(a, b) * b;
    case Prim::kMin:
      return less(elem, a, b) ? a : b;
    case Prim::kMax:
      return less(elem, a, b) ? b : a;
    case Prim::kEq:
      return a == b;
    case Prim::kNe:
      return a != b;
    case Prim::kLt:
      return less(elem, a, b);
    case Prim::kLe:
      return !less(elem, b, a);
    case Prim::kGt:
      return less(elem, b, a);
    case Prim::kGe:
      return !less(elem, a, b);
    case Prim::kAnd:
      return a & b;
    case Prim::kOr:
      return a | b;
    case Prim::kXor:
      return a ^ b;
    default:
      return std::nullopt;
  }
}

bool is_comparison(Prim op) { return op >= Prim::kEq && op <= Prim::kIsNan; }

Type prim_type(Prim op, const std::vector<Expr>& args) {
  if (op == Prim::kSelect) return args[1]->type;
  if (is_comparison(op)) return args[0]->type.with_elem(Elem::kBool);
  return args[0]->type;
}

bool is_value(const Expr& e, int64_t v) {
  const auto c = as_int(e);
  return c && *c == v;
}

// The factor c of x * c, or 1.
int64_t constant_factor(const Expr& e) {
  const bool product = e->kind == ExprKind::kPrim && e->op == Prim::kMul;
  return product ? as_int(e->args[1]).value_or(1) : 1;
}

// (x * m + y) // c = x * (m / c) + y // c and (x * m + y) % c = y % c where c divides m: exact for
// floor division, whatever the signs.
Expr fold_division(Prim op, const Expr& a, const Expr& b) {
  const auto c = as_int(b);
  if (!c || *c < 2 || a->type.elem != Elem::kI64) return {};
  const bool sum = a->kind == ExprKind::kPrim && a->op == Prim::kAdd;
  const std::vector<Expr> terms = sum ? a->args : std::vector<Expr>{a};
  for (size_t i = 0; i < terms.size(); ++i) {
    const int64_t m = as_int(terms[i]).value_or(constant_factor(terms[i]));
    if (m % *c != 0) continue;
    const Expr rest = sum ? terms[1 - i] : i64(0);
    if (op == Prim::kFloorMod) return rest % b;
    const Expr whole = as_int(terms[i]) ? i64(m / *c) : terms[i]->args[0] * i64(m / *c);
    return whole + rest / b;
  }
  return {};
}

// Identities of a scalar integer operation; null if none applies.
Expr fold_identity(Prim op, const Expr& a, const Expr& b) {
  const Type t = a->type;
  switch (op) {
    case Prim::kAdd:
      if (is_value(b, 0)) return a;
      if (is_value(a, 0)) return b;
      if (as_int(a) && !as_int(b)) return b + a;
      if (as_int(b) && a->kind == ExprKind::kPrim && a->op == Prim::kAdd && as_int(a->args[1])) {
        return a->args[0] + (a->args[1] + b);
      }
      return {};
    case Prim::kSub:
      if (is_value(b, 0)) return a;
      if (a.get() == b.get()) return int_constant(t, 0);
      if (const auto c = as_int(b); c && t.elem == Elem::kI64) return a + int_constant(t, -*c);
      return {};
    case Prim::kMul:
      if (is_value(b, 1) || is_value(a, 0)) return a;
      if (is_value(a, 1) || is_value(b, 0)) return b;
      if (as_int(a) && !as_int(b)) return b * a;
      if (as_int(b) && a->kind == ExprKind::kPrim && a->op == Prim::kMul && as_int(a->args[1])) {
        return a->args[0] * (a->args[1] * b);
      }
      return {};
    case Prim::kFloorDiv:
      return is_value(b, 1) ? a : fold_division(op, a, b);
    case Prim::kFloorMod:
      return is_value(b, 1) ? int_constant(t, 0) : fold_division(op, a, b);
    case Prim::kMin:
    case Prim::kMax:
      return a.get() == b.get() ? a : Expr{};
    case Prim::kShl:
    case Prim::kShr:
    case Prim::kXor:
      return is_value(b, 0) ? a : Expr{};
    case Prim::kAnd:
      if (t.elem == Elem::kBool && is_value(a, 1)) return b;
      if (t.elem == Elem::kBool && is_value(b, 1)) return a;
      return {};
    default:
      return {};
  }
}

// ramp + uniform, ramp * uniform and their mirrors: an affine vector stays a ramp.
Expr fold_ramp(Prim op, const Expr& a, const Expr& b) {
  const bool ra = a->kind == ExprKind::kRamp, rb = b->kind == ExprKind::kRamp;
  const bool ua = a->kind == ExprKind::kBroadcast, ub = b->kind == ExprKind::kBroadcast;
  const int n = a->type.lanes;
  if (op == Prim::kAdd) {
    if (ra && ub) return ramp(a->args[0] + b->args[0], a->args[1], n);
    if (ua && rb) return ramp(a->args[0] + b->args[0], b->args[1], n);
    if (ra && rb) return ramp(a->args[0] + b->args[0], a->args[1] + b->args[1], n);
  } else if (op == Prim::kSub) {
    if (ra && ub) return ramp(a->args[0] - b->args[0], a->args[1], n);
    if (ra && rb) return ramp(a->args[0] - b->args[0], a->args[1] - b->args[1], n);
  } else if (op == Prim::kMul) {
    if (ra && ub) return ramp(a->args[0] * b->args[0], a->args[1] * b->args[0], n);
    if (ua && rb) return ramp(a->args[0] * b->args[0], a->args[0] * b->args[1], n);
  }
  return {};
}

Expr fold(Prim op, const std::vector<Expr>& args) {
  if (op == Prim::kSelect) {
    if (const auto c = as_int(args[0])) return args[*c ? 1 : 2];
    return {};
  }
  if (args.size() == 1 && args[0]->type.elem == Elem::kBool && op == Prim::kNot) {
    if (const auto c = as_int(args[0])) return int_constant(args[0]->type, *c == 0);
  }
  if (args.size() != 2 || is_float(args[0]->type.elem)) return {};
  if (args[0]->type.lanes > 1) return fold_ramp(op, args[0], args[1]);
  const auto a = as_int(args[0]), b = as_int(args[1]);
  if (a && b) {
    if (const auto v = fold_integers(op, args[0]->type.elem, *a, *b)) {
      return int_constant(prim_type(op, args), *v);
    }
  }
  return fold_identity(op, args[0], args[1]);
}

}  // namespace

Elem elem_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Elem::kF32;
    case DType::kF64:
      return Elem::kF64;
    case DType::kBF16:
      return Elem::kBF16;
    case DType::kF16:
      return Elem::kF16;
    case DType::kI32:
      return Elem::kI32;
    case DType::kI64:
      return Elem::kI64;
    case DType::kU8:
      return Elem::kU8;
    case DType::kBool:
      return Elem::kBool;
    case DType::kKey:
      break;
  }
  return Elem::kU64;
}

const char* elem_name(Elem elem) { return kElems[static_cast<size_t>(elem)].name; }
int elem_bytes(Elem elem) { return kElems[static_cast<size_t>(elem)].bytes; }
const char* prim_name(Prim op) { return kPrims[static_cast<size_t>(op)].name; }
int prim_arity(Prim op) { return kPrims[static_cast<size_t>(op)].arity; }

std::optional<int64_t> as_int(const Expr& e) {
  if (e->kind == ExprKind::kConst && !is_float(e->type.elem)) return e->int_value;
  if (e->kind == ExprKind::kBroadcast) return as_int(e->args[0]);
  return std::nullopt;
}

Expr constant(Type type, double value) {
  if (!is_float(type.elem)) return int_constant(type, static_cast<int64_t>(value));
  return broadcast(make({.kind = ExprKind::kConst, .type = {type.elem}, .float_value = value}),
                   type.lanes);
}

Expr int_constant(Type type, int64_t value) {
  if (is_float(type.elem)) return constant(type, static_cast<double>(value));
  return broadcast(
      make({.kind = ExprKind::kConst, .type = {type.elem}, .int_value = wrap(type.elem, value)}),
      type.lanes);
}

Expr var(std::string name, Type type) {
  return make({.kind = ExprKind::kVar, .type = type, .name = std::move(name)});
}

Expr prim(Prim op, std::vector<Expr> args) {
  TL_CHECK(static_cast<int>(args.size()) == prim_arity(op), "{} takes {} operands", prim_name(op),
           prim_arity(op));
  int lanes = 1;
  bool uniform = true;
  for (const Expr& a : args) {
    TL_CHECK(a, "an operand of {} is null", prim_name(op));
    lanes = std::max(lanes, a->type.lanes);
    uniform &= a->type.lanes == 1 || a->kind == ExprKind::kBroadcast;
  }
  if (lanes > 1 && uniform) {
    for (Expr& a : args) a = a->type.lanes > 1 ? a->args[0] : a;
    return broadcast(prim(op, std::move(args)), lanes);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const bool scalar_condition = op == Prim::kSelect && i == 0;
    if (!scalar_condition) args[i] = broadcast(args[i], lanes);
    TL_CHECK(scalar_condition || args[i]->type.lanes == lanes, "{}: lanes {} and {}", prim_name(op),
             args[i]->type.lanes, lanes);
  }
  const size_t last = args.size() - 1;
  TL_CHECK(last == 0 || args[last - 1]->type.elem == args[last]->type.elem,
           "{}: operands of {} and {}", prim_name(op), elem_name(args[last - 1]->type.elem),
           elem_name(args[last]->type.elem));
  if (Expr folded = fold(op, args)) return folded;
  const Type type = prim_type(op, args);
  return make({.kind = ExprKind::kPrim, .type = type, .op = op, .args = std::move(args)});
}

Expr cast(Elem elem, Expr value) {
  if (value->type.elem == elem) return value;
  if (value->kind == ExprKind::kBroadcast) {
    return broadcast(cast(elem, value->args[0]), value->type.lanes);
  }
  if (const auto v = as_int(value); v && !(value->type.elem == Elem::kU64 && is_float(elem))) {
    if (!is_float(elem) || std::abs(*v) < (int64_t{1} << 24)) return int_constant({elem}, *v);
  }
  const Type type = value->type.with_elem(elem);
  return make({.kind = ExprKind::kCast, .type = type, .args = {std::move(value)}});
}

Expr bitcast(Elem elem, Expr value) {
  if (value->type.elem == elem) return value;
  TL_CHECK(elem_bytes(elem) == elem_bytes(value->type.elem), "bitcast between {} and {}",
           elem_name(value->type.elem), elem_name(elem));
  if (value->kind == ExprKind::kBroadcast) {
    return broadcast(bitcast(elem, value->args[0]), value->type.lanes);
  }
  const Type type = value->type.with_elem(elem);
  return make({.kind = ExprKind::kBitcast, .type = type, .args = {std::move(value)}});
}

Expr load(const Buffer& buffer, Expr index, Expr mask) {
  const int lanes = std::max(index->type.lanes, mask ? mask->type.lanes : 1);
  if (mask && as_int(mask).value_or(0) == 1) mask = {};
  if (index->kind == ExprKind::kBroadcast && !mask) {
    return broadcast(load(buffer, index->args[0]), lanes);
  }
  std::vector<Expr> args{broadcast(std::move(index), lanes)};
  if (mask) args.push_back(broadcast(std::move(mask), lanes));
  return make({.kind = ExprKind::kLoad,
               .type = {buffer->elem, lanes},
               .args = std::move(args),
               .buffer = buffer});
}

Expr load_local(const Local& local, Expr index) {
  return make({.kind = ExprKind::kLoadLocal,
               .type = local->type,
               .args = {std::move(index)},
               .local = local});
}

Expr load_local(const Local& local, int64_t index) { return load_local(local, i64(index)); }

Expr ramp(Expr base, Expr stride, int lanes) {
  if (lanes == 1) return base;
  if (is_value(stride, 0)) return broadcast(std::move(base), lanes);
  const Type type = base->type.with_lanes(lanes);
  return make(
      {.kind = ExprKind::kRamp, .type = type, .args = {std::move(base), std::move(stride)}});
}

Expr ramp(Expr base, int lanes) {
  const Type type = base->type;
  return ramp(std::move(base), int_constant(type, 1), lanes);
}

Expr broadcast(Expr scalar, int lanes) {
  if (lanes == scalar->type.lanes) return scalar;
  TL_CHECK(scalar->type.lanes == 1, "broadcast of {} lanes to {}", scalar->type.lanes, lanes);
  const Type type = scalar->type.with_lanes(lanes);
  return make({.kind = ExprKind::kBroadcast, .type = type, .args = {std::move(scalar)}});
}

Expr reduce(Prim op, Expr vector) {
  const int lanes = vector->type.lanes;
  if (lanes == 1) return vector;
  TL_CHECK(std::has_single_bit(static_cast<unsigned>(lanes)), "reduce over {} lanes", lanes);
  const Type type = vector->type.with_lanes(1);
  return make({.kind = ExprKind::kReduce, .type = type, .op = op, .args = {std::move(vector)}});
}

Expr with_args(const Expr& e, std::vector<Expr> args) {
  switch (e->kind) {
    case ExprKind::kConst:
    case ExprKind::kVar:
      return e;
    case ExprKind::kPrim:
      return prim(e->op, std::move(args));
    case ExprKind::kCast:
      return cast(e->type.elem, args[0]);
    case ExprKind::kBitcast:
      return bitcast(e->type.elem, args[0]);
    case ExprKind::kLoad:
      return load(e->buffer, args[0], args.size() > 1 ? args[1] : Expr{});
    case ExprKind::kRamp:
      return ramp(args[0], args[1], e->type.lanes);
    case ExprKind::kBroadcast:
      return broadcast(args[0], e->type.lanes);
    case ExprKind::kReduce:
      return reduce(e->op, args[0]);
    case ExprKind::kLoadLocal:
      break;
  }
  return load_local(e->local, args[0]);
}

int64_t evaluate(const Expr& expr, std::span<const Expr> vars, std::span<const int64_t> values) {
  if (const auto c = as_int(expr)) return *c;
  if (expr->kind == ExprKind::kVar) {
    for (size_t i = 0; i < vars.size(); ++i) {
      if (vars[i].get() == expr.get()) return values[i];
    }
    TL_CHECK(false, "size {} is not bound", expr->name);
  }
  TL_CHECK(expr->kind == ExprKind::kPrim && expr->type.lanes == 1,
           "not an expression of sizes alone");
  const auto arg = [&](size_t i) { return evaluate(expr->args[i], vars, values); };
  if (expr->op == Prim::kSelect) return arg(0) ? arg(1) : arg(2);
  TL_CHECK(expr->args.size() == 2, "{} of sizes cannot be evaluated", prim_name(expr->op));
  const auto result = fold_integers(expr->op, expr->args[0]->type.elem, arg(0), arg(1));
  TL_CHECK(result, "{} of sizes cannot be evaluated", prim_name(expr->op));
  return *result;
}

Expr operator+(Expr a, Expr b) { return prim(Prim::kAdd, {std::move(a), std::move(b)}); }
Expr operator-(Expr a, Expr b) { return prim(Prim::kSub, {std::move(a), std::move(b)}); }
Expr operator*(Expr a, Expr b) { return prim(Prim::kMul, {std::move(a), std::move(b)}); }
Expr operator/(Expr a, Expr b) {
  const Prim op = is_float(a->type.elem) ? Prim::kDiv : Prim::kFloorDiv;
  return prim(op, {std::move(a), std::move(b)});
}
Expr operator%(Expr a, Expr b) { return prim(Prim::kFloorMod, {std::move(a), std::move(b)}); }
Expr operator-(Expr a) { return prim(Prim::kNeg, {std::move(a)}); }
Expr operator&(Expr a, Expr b) { return prim(Prim::kAnd, {std::move(a), std::move(b)}); }
Expr operator|(Expr a, Expr b) { return prim(Prim::kOr, {std::move(a), std::move(b)}); }
Expr logical_not(Expr a) { return prim(Prim::kNot, {std::move(a)}); }
Expr operator<(Expr a, Expr b) { return prim(Prim::kLt, {std::move(a), std::move(b)}); }
Expr operator<=(Expr a, Expr b) { return prim(Prim::kLe, {std::move(a), std::move(b)}); }
Expr operator>(Expr a, Expr b) { return prim(Prim::kGt, {std::move(a), std::move(b)}); }
Expr operator>=(Expr a, Expr b) { return prim(Prim::kGe, {std::move(a), std::move(b)}); }
Expr eq(Expr a, Expr b) { return prim(Prim::kEq, {std::move(a), std::move(b)}); }
Expr ne(Expr a, Expr b) { return prim(Prim::kNe, {std::move(a), std::move(b)}); }
Expr min(Expr a, Expr b) { return prim(Prim::kMin, {std::move(a), std::move(b)}); }
Expr max(Expr a, Expr b) { return prim(Prim::kMax, {std::move(a), std::move(b)}); }
Expr fma(Expr a, Expr b, Expr c) {
  return prim(Prim::kFma, {std::move(a), std::move(b), std::move(c)});
}
Expr select(Expr condition, Expr a, Expr b) {
  return prim(Prim::kSelect, {std::move(condition), std::move(a), std::move(b)});
}
Expr ceil_div(Expr a, Expr b) { return (a + (b - 1)) / b; }

}  // namespace tapeless::loop
