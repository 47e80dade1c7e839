// slice, pad and update_slice: a box of a tensor, a tensor in a box, a box overwritten. The first
// two are each other's gradients.
#include "tapeless/ops/slice.h"

#include <fmt/core.h>

#include <algorithm>

#include "tapeless/ops/checks.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace build {

Value* slice(Builder& b, Value* x, Shape starts, Shape limits, Ints strides) {
  AttrMap attrs = {{"starts", std::move(starts)}, {"limits", std::move(limits)}};
  if (std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 1; }))
    attrs["strides"] = std::move(strides);
  return b.make(kSliceOp, {x}, std::move(attrs));
}

Value* pad(Builder& b, Value* x, Shape low, Shape high, Ints interior) {
  AttrMap attrs = {{"low", std::move(low)}, {"high", std::move(high)}};
  if (std::any_of(interior.begin(), interior.end(), [](int64_t i) { return i != 0; }))
    attrs["interior"] = std::move(interior);
  return b.make(kPadOp, {x}, std::move(attrs));
}

}  // namespace build

namespace {

using loop::Expr;

void require_entries(const TypeQuery& q, std::string_view attr, size_t count, int rank) {
  if (static_cast<int>(count) != rank)
    q.fail("`{}` has {} entries for {}", attr, count, q.operand(0).str());
}

bool negative(const Dim& d) { return d.is_constant() && d.constant() < 0; }

// The attribute, or `fallback` for every axis.
Ints ints_or(const AttrMap& attrs, std::string_view name, int rank, int64_t fallback) {
  auto found = attrs.find(name);
  return found == attrs.end() ? Ints(static_cast<size_t>(rank), fallback)
                              : std::get<Ints>(found->second);
}

Expr both(Expr a, Expr b) {
  if (!a) return b;
  return b ? a & b : a;
}

// --- slice

Ints strides_of(const Op& op) { return ints_or(op.attrs, "strides", op.operand_type(0).rank(), 1); }

std::vector<Type> slice_type(const TypeQuery& q) {
  const Type& x = q.operand(0);
  const Shape &starts = q.attr<Shape>("starts"), &limits = q.attr<Shape>("limits");
  Ints strides = ints_or(q.attrs, "strides", x.rank(), 1);
  require_entries(q, "starts", starts.size(), x.rank());
  require_entries(q, "limits", limits.size(), x.rank());
  require_entries(q, "strides", strides.size(), x.rank());
  Shape shape;
  for (size_t i = 0; i < starts.size(); ++i) {
    if (strides[i] < 1) q.fail("strides must be positive, got {}", strides[i]);
    Dim extent = ceildiv(limits[i] - starts[i], strides[i]);
    if (negative(starts[i]) || negative(extent) ||
        (!extent.is(0) && negative(x.shape[i] - limits[i])))
      q.fail("[{} : {}] is not within axis {} of {}", starts[i].str(), limits[i].str(), i, x.str());
    shape.push_back(extent);
  }
  return {x.with_shape(shape)};
}

// Asked for at run time where it is only known there.
void at_least_zero(OpChecks& into, const Dim& size, const Dim& unless_empty, std::string message) {
  if (size.may_be_negative())
    into.sizes.push_back(
        {.size = size, .unless_empty = unless_empty, .message = std::move(message)});
}

void slice_checks(const Op& op, OpChecks& into) {
  const Shape &starts = op.dims("starts"), &limits = op.dims("limits");
  const Shape& x = op.operand_type(0).shape;
  Dim elements = numel(op.result_type().shape);
  for (size_t i = 0; i < x.size(); ++i) {
    std::string message = fmt::format("[{} : {}] is not within axis {} of {}", starts[i].str(),
                                      limits[i].str(), i, op.operand_type(0).str());
    at_least_zero(into, starts[i], elements, message);
    at_least_zero(into, x[i] - limits[i], elements, message);
  }
}

void slice_reference(ReferenceCall& c) {
  Extents starts = c.dims("starts");
  Ints strides = strides_of(c.op);
  int64_t to = 0;
  for_each_index(c.out().shape(), [&](const Extents& index) {
    Extents from = index;
    for (size_t i = 0; i < from.size(); ++i) from[i] = starts[i] + index[i] * strides[i];
    copy_element(c.out(), to++, c.in(0), flat(from, c.in(0).shape()));
  });
}

// Where it is only known at run time that a slice fits, reads are masked.
Expr slice_element(Elements& e, int, const Indices& index) {
  const Shape &starts = e.op.dims("starts"), &limits = e.op.dims("limits");
  const Shape& x = e.op.operand_type(0).shape;
  Ints strides = strides_of(e.op);
  Indices from;
  Expr inside;
  for (size_t i = 0; i < index.size(); ++i) {
    Expr at = index[i] * strides[i];
    from.push_back(starts[i].is(0) ? at : e.size(starts[i]) + at);
    if (!(x[i] - limits[i]).is_constant()) inside = both(inside, from[i] < e.size(x[i]));
    if (!starts[i].is_constant()) inside = both(inside, from[i] >= loop::i64(0));
  }
  return e.operand(0, from, inside);
}

// dx: dy in its place, zeros elsewhere
void slice_vjp(Vjp& v) {
  const Shape &x = v.op.operand_type(0).shape, &y = v.op.result_type().shape;
  const Shape& starts = v.op.dims("starts");
  Ints interior = strides_of(v.op);
  Shape high;
  for (size_t i = 0; i < x.size(); ++i) {
    high.push_back(x[i] - starts[i] - ((y[i] - 1) * interior[i] + 1));
    --interior[i];
  }
  v.give(0, build::pad(v.b, v.cotangent(), starts, high, interior));
}

constexpr AttrDef kSliceAttrs[] = {
    {.name = "starts", .kind = AttrKind::kShape, .doc = "first index on each axis"},
    {.name = "limits", .kind = AttrKind::kShape, .doc = "index after the last on each axis"},
    {.name = "strides", .kind = AttrKind::kInts, .optional = true, .doc = "steps; 1 if absent"}};
constexpr Lowering kSliceLowering{.element = slice_element};
constexpr OpCase kSliceCases[] = {
    {.operands = "f32[5, 7]", .attrs = "starts = [1, 2], limits = [4, 7]"},
    {.operands = "f32[10, 3]", .attrs = "starts = [1, 0], limits = [10, 3], strides = [3, 2]"},
    {.operands = "f32[4]", .attrs = "starts = [2], limits = [2]"},
    {.operands = "i64[4, 4097]", .attrs = "starts = [0, 17], limits = [4, 4096]"},
    {.operands = "f64[2, 3, 4]", .attrs = "starts = [0, 1, 0], limits = [2, 2, 4]"}};

// --- pad

Ints interior_of(const Op& op) {
  return ints_or(op.attrs, "interior", op.operand_type(0).rank(), 0);
}

std::vector<Type> pad_type(const TypeQuery& q) {
  const Type& x = q.operand(0);
  const Shape &low = q.attr<Shape>("low"), &high = q.attr<Shape>("high");
  Ints interior = ints_or(q.attrs, "interior", x.rank(), 0);
  require_entries(q, "low", low.size(), x.rank());
  require_entries(q, "high", high.size(), x.rank());
  require_entries(q, "interior", interior.size(), x.rank());
  if (x.dtype == DType::kKey) q.fail("a key is not padded");
  Shape shape;
  for (size_t i = 0; i < low.size(); ++i) {
    Dim extent = low[i] + (x.shape[i] - 1) * (interior[i] + 1) + 1 + high[i];
    if (negative(low[i]) || interior[i] < 0 || negative(extent) ||
        (negative(high[i]) && interior[i] == 0))
      q.fail("padding may not be negative: {} and {} on axis {}", low[i].str(), high[i].str(), i);
    shape.push_back(extent);
  }
  return {x.with_shape(shape)};
}

void pad_checks(const Op& op, OpChecks& into) {
  const Shape &low = op.dims("low"), &high = op.dims("high");
  Dim elements = numel(op.operand_type(0).shape);
  for (size_t i = 0; i < low.size(); ++i)
    for (const Dim& d : {low[i], high[i]})
      at_least_zero(into, d, elements,
                    fmt::format("padding may not be negative: {} and {} on axis {}", low[i].str(),
                                high[i].str(), i));
}

void pad_reference(ReferenceCall& c) {
  Extents low = c.dims("low");
  Ints interior = interior_of(c.op);
  for (int64_t i = 0; i < c.out().numel(); ++i) c.out().set(i, c.op.real("value"));
  int64_t from = 0;
  for_each_index(c.in(0).shape(), [&](const Extents& index) {
    Extents to = index;
    for (size_t i = 0; i < to.size(); ++i) to[i] = low[i] + index[i] * (interior[i] + 1);
    copy_element(c.out(), flat(to, c.out().shape()), c.in(0), from++);
  });
}

Expr pad_element(Elements& e, int, const Indices& index) {
  const Shape &low = e.op.dims("low"), &high = e.op.dims("high");
  const Shape& x = e.op.operand_type(0).shape;
  Ints interior = interior_of(e.op);
  Indices from;
  Expr inside;
  for (size_t i = 0; i < index.size(); ++i) {
    Expr at = low[i].is(0) ? index[i] : index[i] - e.size(low[i]);
    if (!low[i].is(0)) inside = both(inside, at >= loop::i64(0));
    if (interior[i] > 0) {
      Expr step = loop::i64(interior[i] + 1);
      inside = both(inside, loop::eq(at % step, loop::i64(0)));
      at = at / step;
    }
    if (interior[i] > 0 || !high[i].is(0)) inside = both(inside, at < e.size(x[i]));
    from.push_back(at);
  }
  Expr value = e.operand(0, from, inside);
  if (!inside || e.op.real("value") == 0) return value;
  return loop::select(inside, value, loop::literal_like(value, e.op.real("value")));
}

void pad_vjp(Vjp& v) {
  const Shape &x = v.op.operand_type(0).shape, &low = v.op.dims("low");
  Ints strides = interior_of(v.op);
  Shape limits;
  for (size_t i = 0; i < x.size(); ++i) {
    ++strides[i];
    limits.push_back(low[i] + (x[i] - 1) * strides[i] + 1);
  }
  v.give(0, build::slice(v.b, v.cotangent(), low, limits, strides));
}

constexpr AttrDef kPadAttrs[] = {
    {.name = "low", .kind = AttrKind::kShape, .doc = "elements added before, for each axis"},
    {.name = "high", .kind = AttrKind::kShape, .doc = "elements added after, for each axis"},
    {.name = "interior",
     .kind = AttrKind::kInts,
     .optional = true,
     .doc = "elements added between neighbours, for each axis; none if absent"},
    {.name = "value", .kind = AttrKind::kReal, .fallback = 0.0, .doc = "what is added"}};
constexpr Lowering kPadLowering{.element = pad_element};
constexpr OpCase kPadCases[] = {
    {.operands = "f32[3, 4]", .attrs = "low = [1, 0], high = [0, 2]"},
    {.operands = "f32[3, 4]", .attrs = "low = [1, 2], high = [0, 3], interior = [0, 2]"},
    {.operands = "f32[2, 3]", .attrs = "low = [0, 1], high = [1, 1], value = -2.5"},
    {.operands = "f32[0]", .attrs = "low = [2], high = [1]"},
    {.operands = "i64[17]", .attrs = "low = [4], high = [5], value = 3.0"},
    {.operands = "f64[4097]", .attrs = "low = [1], high = [0]"}};

// --- update_slice

std::vector<Type> update_type(const TypeQuery& q) {
  const Type &x = q.operand(0), &u = q.operand(1);
  const Shape& starts = q.attr<Shape>("starts");
  infer::require_same_dtype(q, 0, 1);
  infer::require_rank(q, 1, x.rank());
  require_entries(q, "starts", starts.size(), x.rank());
  for (size_t i = 0; i < starts.size(); ++i)
    if (negative(starts[i]) || negative(x.shape[i] - starts[i] - u.shape[i]))
      q.fail("{} at {} does not lie within {}", u.str(), shape_str(starts), x.str());
  return {x};
}

void update_checks(const Op& op, OpChecks& into) {
  const Shape& starts = op.dims("starts");
  const Type &x = op.operand_type(0), &u = op.operand_type(1);
  std::string message =
      fmt::format("{} at {} does not lie within {}", u.str(), shape_str(starts), x.str());
  for (size_t i = 0; i < starts.size(); ++i) {
    at_least_zero(into, starts[i], 1, message);
    at_least_zero(into, x.shape[i] - starts[i] - u.shape[i], 1, message);
  }
}

void update_reference(ReferenceCall& c) {
  Extents starts = c.dims("starts");
  for (int64_t i = 0; i < c.out().numel(); ++i) copy_element(c.out(), i, c.in(0), i);
  int64_t from = 0;
  for_each_index(c.in(1).shape(), [&](const Extents& index) {
    Extents to = index;
    for (size_t i = 0; i < to.size(); ++i) to[i] += starts[i];
    copy_element(c.out(), flat(to, c.out().shape()), c.in(1), from++);
  });
}

Expr update_element(Elements& e, int, const Indices& index) {
  const Shape &starts = e.op.dims("starts"), &u = e.op.operand_type(1).shape;
  const Shape& x = e.op.operand_type(0).shape;
  Indices from;
  Expr inside;
  for (size_t i = 0; i < index.size(); ++i) {
    from.push_back(starts[i].is(0) ? index[i] : index[i] - e.size(starts[i]));
    if (!starts[i].is(0)) inside = both(inside, from[i] >= loop::i64(0));
    if (!(starts[i] + u[i] == x[i])) inside = both(inside, from[i] < e.size(u[i]));
  }
  if (!inside) return e.operand(1, from);
  return loop::select(inside, e.operand(1, from, inside),
                      e.operand(0, index, loop::logical_not(inside)));
}

// dx = dy, zero where overwritten; du = dy where it was written
void update_vjp(Vjp& v) {
  const Shape &starts = v.op.dims("starts"), &u = v.op.operand_type(1).shape;
  Value* dy = v.cotangent();
  if (v.needs(0)) {
    Value* zeros = build::full_like(v.b, v.operand(1), 0);
    v.give(0, v.b.make(kUpdateSliceOp, {dy, zeros}, v.op.attrs));
  }
  if (!v.needs(1)) return;
  Shape limits;
  for (size_t i = 0; i < u.size(); ++i) limits.push_back(starts[i] + u[i]);
  v.give(1, build::slice(v.b, dy, starts, limits));
}

constexpr AttrDef kUpdateAttrs[] = {
    {.name = "starts", .kind = AttrKind::kShape, .doc = "where the update begins on each axis"}};
constexpr Lowering kUpdateLowering{.element = update_element};
constexpr OpCase kUpdateCases[] = {{.operands = "f32[5, 7], f32[2, 3]", .attrs = "starts = [1, 4]"},
                                   {.operands = "f32[5, 7], f32[5, 1]", .attrs = "starts = [0, 0]"},
                                   {.operands = "f32[3], f32[3]", .attrs = "starts = [0]"},
                                   {.operands = "f32[3], f32[0]", .attrs = "starts = [1]"},
                                   {.operands = "i64[4097], i64[17]", .attrs = "starts = [1000]"}};

}  // namespace

constinit const OpDef kSliceOp{
    .name = "slice",
    .doc =
        "x[starts : limits : strides] on every axis. Nothing counts from the end or is clamped: "
        "a box that does not lie within x is an error.",
    .attrs = kSliceAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = slice_type,
    .checks = slice_checks,
    .reference = slice_reference,
    .vjp = slice_vjp,
    .lower = &kSliceLowering,
    .cases = kSliceCases,
};

constinit const OpDef kPadOp{
    .name = "pad",
    .doc = "x with `value` added before, after and between its elements on each axis.",
    .attrs = kPadAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = pad_type,
    .checks = pad_checks,
    .reference = pad_reference,
    .vjp = pad_vjp,
    .lower = &kPadLowering,
    .cases = kPadCases,
};

constinit const OpDef kUpdateSliceOp{
    .name = "update_slice",
    .doc = "x (first operand) with the box at `starts` overwritten by the second operand.",
    .attrs = kUpdateAttrs,
    .min_operands = 2,
    .max_operands = 2,
    .result_type = update_type,
    .checks = update_checks,
    .reference = update_reference,
    .vjp = update_vjp,
    .lower = &kUpdateLowering,
    .cases = kUpdateCases,
};

}  // namespace tapeless
