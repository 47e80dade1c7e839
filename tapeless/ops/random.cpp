// Random tensors from a key, and keys from keys. Every element is a function of (key, its row-major
// position): the same at any thread count, layout, fusion or recompute. See runtime/philox.h.
#include <cmath>
#include <numbers>

#include "tapeless/loop/philox.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"
#include "tapeless/runtime/philox.h"

namespace tapeless {

namespace {

using loop::Elem;
using loop::Expr;
using loop::Prim;

// --- Elements as loop expressions

Expr shift_right(const Expr& x, int bits) {
  return loop::prim(Prim::kShr, {x, loop::literal_like(x, bits)});
}

// Element `position` (i64, not negative) of the random tensor of this key: u32.
Expr word_expr(const Expr& key, const Expr& position) {
  Expr lane = position & loop::literal_like(position, 15);
  Expr block = shift_right(position, 6) * 16 + lane;
  auto words = loop::philox_block(key, loop::cast(Elem::kU64, block));
  Expr which = shift_right(position, 4) & loop::literal_like(position, 3);
  auto is = [&](int i) { return loop::eq(which, loop::literal_like(which, i)); };
  return loop::select(is(0), words[0],
                      loop::select(is(1), words[1], loop::select(is(2), words[2], words[3])));
}

// The third counter word of normal numbers' blocks.
constexpr uint32_t kNormalUse = 2;

double uniform(uint32_t word, DType dtype) {
  return dtype == DType::kF64 ? word * 0x1p-32 : double{uniform_f32(word)};
}

// [0, 1) from the upper 24 bits (f32) or all 32 (f64).
Expr uniform_expr(const Expr& word, DType dtype) {
  if (dtype == DType::kF64) return loop::cast(Elem::kF64, word) * 0x1p-32;
  Expr bits = loop::bitcast(Elem::kI32, shift_right(word, 8));
  return loop::cast(Elem::kF32, bits) * 0x1p-24;
}

// --- What the random ops share

constexpr AttrDef kShapeAttr{
    .name = "shape", .kind = AttrKind::kShape, .doc = "shape of the result"};
constexpr AttrDef kShapeAttrs[] = {kShapeAttr};
constexpr AttrDef kFloatAttrs[] = {
    kShapeAttr,
    {.name = "dtype", .kind = AttrKind::kDType, .optional = true, .doc = "f32 (if absent) or f64"}};

void require_key(const TypeQuery& q) {
  if (!(q.operand(0) == Type::key())) q.fail("expected a key, got {}", q.operand(0).str());
}

std::vector<Type> bits_type(const TypeQuery& q) {
  require_key(q);
  return {Type(DType::kI32, q.attr<Shape>("shape"))};
}

std::vector<Type> float_type(const TypeQuery& q) {
  require_key(q);
  DType dtype = q.has("dtype") ? q.attr<DType>("dtype") : DType::kF32;
  if (dtype != DType::kF32 && dtype != DType::kF64)
    q.fail("random floats are f32 or f64, not {}", dtype_name(dtype));
  return {Type(dtype, q.attr<Shape>("shape"))};
}

uint64_t key_of(const ReferenceCall& c) { return static_cast<uint64_t>(c.in(0).get_int(0)); }

Expr position(Elements& e, const Indices& index) { return e.flat(index, e.op.result_type().shape); }

// --- random_bits, random_uniform, random_normal

void bits_reference(ReferenceCall& c) {
  for (int64_t i = 0; i < c.out().numel(); ++i)
    c.out().set_int(i, static_cast<int32_t>(philox_word(key_of(c), static_cast<uint64_t>(i))));
}

Expr bits_element(Elements& e, int, const Indices& index) {
  return loop::bitcast(Elem::kI32, word_expr(e.operand(0, {}), position(e, index)));
}

void uniform_reference(ReferenceCall& c) {
  for (int64_t i = 0; i < c.out().numel(); ++i) {
    uint32_t word = philox_word(key_of(c), static_cast<uint64_t>(i));
    c.out().set(i, uniform(word, c.out().dtype()));
  }
}

Expr uniform_element(Elements& e, int, const Indices& index) {
  return uniform_expr(word_expr(e.operand(0, {}), position(e, index)), e.op.result_type().dtype);
}

// Box and Muller: sqrt(-2 ln(1 - u)) cos(2 pi v), u and v from the first two words of block i.
void normal_reference(ReferenceCall& c) {
  DType dtype = c.out().dtype();
  for (int64_t i = 0; i < c.out().numel(); ++i) {
    auto words = philox_block(key_of(c), static_cast<uint64_t>(i), kNormalUse);
    double u = uniform(words[0], dtype);
    double v = uniform(words[1], dtype);
    c.out().set(i, std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v));
  }
}

Expr normal_element(Elements& e, int, const Indices& index) {
  DType dtype = e.op.result_type().dtype;
  Expr block = loop::cast(Elem::kU64, position(e, index));
  auto words = loop::philox_block(e.operand(0, {}), block, kNormalUse);
  Expr u = uniform_expr(words[0], dtype), v = uniform_expr(words[1], dtype);
  Expr radius = loop::prim(Prim::kSqrt, {loop::prim(Prim::kLog, {1.0 - u}) * -2.0});
  return radius * loop::prim(Prim::kCos, {v * (2 * std::numbers::pi)});
}

constexpr Lowering kBitsLowering{.element = bits_element};
constexpr Lowering kUniformLowering{.element = uniform_element};
constexpr Lowering kNormalLowering{.element = normal_element};
constexpr OpCase kBitsCases[] = {{.operands = "key", .attrs = "shape = [3, 41]"},
                                 {.operands = "key", .attrs = "shape = []"},
                                 {.operands = "key", .attrs = "shape = [0]"},
                                 {.operands = "key", .attrs = "shape = [4097]"}};
constexpr OpCase kFloatCases[] = {{.operands = "key", .attrs = "shape = [3, 41]"},
                                  {.operands = "key", .attrs = "shape = []"},
                                  {.operands = "key", .attrs = "shape = [0]"},
                                  {.operands = "key", .attrs = "shape = [4097]"},
                                  {.operands = "key", .attrs = "shape = [77], dtype = f64"}};

// --- fold_in and split

constexpr AttrDef kFoldAttrs[] = {{.name = "data",
                                   .kind = AttrKind::kInt,
                                   .optional = true,
                                   .doc = "the number, where it is not the second operand"}};

std::vector<Type> fold_type(const TypeQuery& q) {
  require_key(q);
  if (q.has("data") == (q.count() == 2))
    q.fail("takes a key and one number: the attribute `data` or a second operand");
  if (q.count() == 2) {
    infer::require_integer(q, 1);
    infer::require_rank(q, 1, 0);
  }
  return {Type::key()};
}

void fold_reference(ReferenceCall& c) {
  int64_t data = c.in_count() == 2 ? c.in(1).get_int(0) : c.op.integer("data");
  c.out().set_int(0, static_cast<int64_t>(philox_fold_in(key_of(c), static_cast<uint64_t>(data))));
}

Expr fold_element(Elements& e, int, const Indices&) {
  Expr data =
      e.op.has("data") ? loop::i64(e.op.integer("data")) : loop::cast(Elem::kI64, e.operand(1, {}));
  return loop::philox_fold_in(e.operand(0, {}), loop::cast(Elem::kU64, data));
}

constexpr AttrDef kSplitAttrs[] = {
    {.name = "count", .kind = AttrKind::kInt, .fallback = int64_t{2}, .doc = "how many keys"}};

std::vector<Type> split_type(const TypeQuery& q) {
  require_key(q);
  int64_t count = q.attr<int64_t>("count");
  if (count < 1) q.fail("`count` must be positive, got {}", count);
  return std::vector<Type>(static_cast<size_t>(count), Type::key());
}

void split_reference(ReferenceCall& c) {
  for (int i = 0; i < c.op.integer("count"); ++i)
    c.out(i).set_int(0, static_cast<int64_t>(philox_split(key_of(c), static_cast<uint64_t>(i))));
}

Expr split_element(Elements& e, int result, const Indices&) {
  auto child = static_cast<int64_t>(uint64_t{1} << 63 | static_cast<uint64_t>(result));
  return loop::philox_fold_in(e.operand(0, {}), loop::int_constant({Elem::kU64}, child));
}

constexpr Lowering kFoldLowering{.element = fold_element};
constexpr Lowering kSplitLowering{.element = split_element};
constexpr OpCase kFoldCases[] = {{.operands = "key", .attrs = "data = 7"},
                                 {.operands = "key", .attrs = "data = -1234567890123"},
                                 {.operands = "key, i32[]"},
                                 {.operands = "key, i64[]"}};
constexpr OpCase kSplitCases[] = {{.operands = "key"}, {.operands = "key", .attrs = "count = 5"}};

}  // namespace

constinit const OpDef kFoldInOp{
    .name = "fold_in",
    .doc = "A new key from a key and an integer: the attribute `data`, or a scalar operand.",
    .attrs = kFoldAttrs,
    .min_operands = 1,
    .max_operands = 2,
    .result_type = fold_type,
    .reference = fold_reference,
    .vjp = kZeroGradient,
    .lower = &kFoldLowering,
    .cases = kFoldCases,
};

constinit const OpDef kRandomBitsOp{
    .name = "random_bits",
    .doc = "Random i32, all 32 bits: Philox 4x32-10 of (key, row-major position).",
    .attrs = kShapeAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = bits_type,
    .reference = bits_reference,
    .vjp = kZeroGradient,
    .lower = &kBitsLowering,
    .cases = kBitsCases,
};

constinit const OpDef kRandomNormalOp{
    .name = "random_normal",
    .doc = "Standard normal numbers.",
    .attrs = kFloatAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = float_type,
    .reference = normal_reference,
    .vjp = kZeroGradient,
    .lower = &kNormalLowering,
    .cases = kFloatCases,
};

constinit const OpDef kRandomUniformOp{
    .name = "random_uniform",
    .doc = "Uniform in [0, 1): multiples of 2^-24 (f32) or 2^-32 (f64), from random_bits' words.",
    .attrs = kFloatAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = float_type,
    .reference = uniform_reference,
    .vjp = kZeroGradient,
    .lower = &kUniformLowering,
    .cases = kFloatCases,
};

constinit const OpDef kSplitOp{
    .name = "split",
    .doc = "`count` new keys from one. The old one should not be used again.",
    .attrs = kSplitAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = split_type,
    .reference = split_reference,
    .vjp = kZeroGradient,
    .lower = &kSplitLowering,
    .cases = kSplitCases,
};

}  // namespace tapeless
