// take_along_axis and scatter_add_along_axis: one element of a line for each index, and their sum
// back. Each is the other's gradient. An index outside of the axis is an error of the data.
#include "tapeless/ops/build.h"
#include "tapeless/ops/checks.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

using loop::Expr;

constexpr AttrDef kAttrs[] = {{.name = "axis",
                               .kind = AttrKind::kInt,
                               .fallback = int64_t{-1},
                               .doc = "the axis that indices point into; may count from the end"}};

size_t axis_of(const Op& op) {
  int64_t axis = op.integer("axis");
  return static_cast<size_t>(axis < 0 ? axis + op.operand_type(0).rank() : axis);
}

void checks(const Op& op, OpChecks& into) {
  into.indices.push_back({.operand = 1, .limit = op.operand_type(0).shape[axis_of(op)]});
}

// Indices (operand 1) have x's shape but for the axis.
void check_indices(const TypeQuery& q) {
  const Type& x = q.operand(0);
  infer::require_integer(q, 1);
  infer::require_rank(q, 1, x.rank());
  auto axis = static_cast<size_t>(infer::normalize_axis(q, q.attr<int64_t>("axis"), x.rank()));
  Shape want = x.shape;
  want[axis] = q.operand(1).shape[axis];
  if (!(want == q.operand(1).shape))
    q.fail("shapes differ beside axis {}: {} and {}", axis, x.str(), q.operand(1).str());
}

// For every index: f(its position, position in x).
void for_each_taken(const ReferenceCall& c, const std::function<void(int64_t, int64_t)>& f) {
  size_t axis = axis_of(c.op);
  const Extents& x = c.in(0).shape();
  int64_t position = 0;
  for_each_index(c.in(1).shape(), [&](const Extents& index) {
    Extents from = index;
    from[axis] = c.in(1).get_int(position);
    f(position++, flat(from, x));
  });
}

struct Chosen {
  Expr index, inside;
};
Chosen choose(Elements& e, const Indices& at) {
  Expr index = loop::cast(loop::Elem::kI64, e.operand(1, at));
  Expr extent = e.size(e.op.operand_type(0).shape[axis_of(e.op)]);
  return {index, (index >= loop::i64(0)) & (index < extent)};
}

// --- take_along_axis

std::vector<Type> take_type(const TypeQuery& q) {
  check_indices(q);
  return {q.operand(0).with_shape(q.operand(1).shape)};
}

void take_reference(ReferenceCall& c) {
  for_each_taken(c, [&](int64_t to, int64_t from) { copy_element(c.out(), to, c.in(0), from); });
}

Expr take_element(Elements& e, int, const Indices& index) {
  Chosen chosen = choose(e, index);
  Indices from = index;
  from[axis_of(e.op)] = chosen.index;
  return e.operand(0, from, chosen.inside);
}

void take_vjp(Vjp& v) {
  if (!v.needs(0)) return;
  Value* zeros = build::full_like(v.b, v.operand(0), 0);
  v.give(0, v.b.make(kScatterAddAlongAxisOp, {zeros, v.operand(1), v.cotangent()}, v.op.attrs));
}

constexpr Lowering kTakeLowering{.element = take_element};
constexpr OpCase kTakeCases[] = {{.operands = "f32[3, 4], i64[3, 1]"},
                                 {.operands = "f32[4, 3], i32[7, 3]", .attrs = "axis = 0"},
                                 {.operands = "f32[2, 4, 3], i64[2, 5, 3]", .attrs = "axis = 1"},
                                 {.operands = "i64[17, 4], i64[17, 2]"},
                                 {.operands = "f32[0, 4], i64[0, 2]"},
                                 {.operands = "f64[129, 10], i64[129, 1]", .integers = 10}};

// --- scatter_add_along_axis

std::vector<Type> scatter_type(const TypeQuery& q) {
  infer::require_numeric(q, 0);
  check_indices(q);
  Type want = q.operand(0).with_shape(q.operand(1).shape);
  if (!(q.operand(2) == want)) q.fail("updates must be {}, got {}", want.str(), q.operand(2).str());
  return {q.operand(0)};
}

void scatter_reference(ReferenceCall& c) {
  bool real = is_float(c.out().dtype());
  std::vector<double> sums = real ? reals(c.in(0)) : std::vector<double>{};
  for (int64_t i = 0; i < c.out().numel(); ++i) copy_element(c.out(), i, c.in(0), i);
  for_each_taken(c, [&](int64_t from, int64_t to) {
    if (real)
      sums[static_cast<size_t>(to)] += c.in(2).get(from);
    else
      c.out().set_int(to, c.out().get_int(to) + c.in(2).get_int(from));
  });
  for (size_t i = 0; i < sums.size(); ++i) c.out().set(static_cast<int64_t>(i), sums[i]);
}

// The axis is walked in order, lines in parallel.
Shape scatter_outer(const Op& op) { return {op.operand_type(1).shape[axis_of(op)]}; }
Shape scatter_inner(const Op& op) {
  Shape shape = op.operand_type(1).shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis_of(op)));
  return shape;
}

Indices joined(const Op& op, const Expr& outer, const Indices& inner) {
  Indices index = inner;
  index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis_of(op)), outer);
  return index;
}

Indices scatter_target(Elements& e, const Indices& outer, const Indices& inner) {
  return joined(e.op, choose(e, joined(e.op, outer[0], inner)).index, inner);
}

Expr scatter_value(Elements& e, const Indices& outer, const Indices& inner) {
  return e.operand(2, joined(e.op, outer[0], inner));
}

Expr scatter_valid(Elements& e, const Indices& outer, const Indices& inner) {
  return choose(e, joined(e.op, outer[0], inner)).inside;
}

void scatter_vjp(Vjp& v) {
  v.give(0, v.cotangent());
  if (v.needs(2)) v.give(2, v.b.make(kTakeAlongAxisOp, {v.cotangent(), v.operand(1)}, v.op.attrs));
}

constexpr Scatter kScatter{.outer = scatter_outer,
                           .inner = scatter_inner,
                           .target = scatter_target,
                           .value = scatter_value,
                           .valid = scatter_valid};
constexpr Lowering kScatterLowering{.scatter = &kScatter};
constexpr OpCase kScatterCases[] = {
    {.operands = "f32[3, 4], i64[3, 1], f32[3, 1]"},
    {.operands = "f32[4, 3], i32[7, 3], f32[7, 3]", .attrs = "axis = 0"},
    {.operands = "f32[2, 4, 3], i64[2, 5, 3], f32[2, 5, 3]", .attrs = "axis = 1"},
    {.operands = "i64[17, 4], i64[17, 2], i64[17, 2]"},
    {.operands = "f64[129, 10], i64[129, 1], f64[129, 1]", .integers = 10}};

}  // namespace

constinit const OpDef kScatterAddAlongAxisOp{
    .name = "scatter_add_along_axis",
    .doc =
        "base with each update added on its own line along `axis` at its index: operands base, "
        "indices, updates (shaped as the indices). Equal indices add up, in order.",
    .attrs = kAttrs,
    .min_operands = 3,
    .max_operands = 3,
    .result_type = scatter_type,
    .checks = checks,
    .reference = scatter_reference,
    .vjp = scatter_vjp,
    .lower = &kScatterLowering,
    .cases = kScatterCases,
};

constinit const OpDef kTakeAlongAxisOp{
    .name = "take_along_axis",
    .doc =
        "For each index the element of x on its own line along `axis` (numpy.take_along_axis). "
        "An index outside of the axis is an error.",
    .attrs = kAttrs,
    .min_operands = 2,
    .max_operands = 2,
    .result_type = take_type,
    .checks = checks,
    .reference = take_reference,
    .vjp = take_vjp,
    .lower = &kTakeLowering,
    .cases = kTakeCases,
};

}  // namespace tapeless
