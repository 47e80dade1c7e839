// gather and scatter_add: whole slices of a tensor at given indices, and their sum back. Each is
// the other's gradient. An index outside of the axis is an error of the data, never wrapped.
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
                               .fallback = int64_t{0},
                               .doc = "the axis that indices point into; may count from the end"}};

size_t axis_of(const Op& op) {
  int64_t axis = op.integer("axis");
  return static_cast<size_t>(axis < 0 ? axis + op.operand_type(0).rank() : axis);
}

void checks(const Op& op, OpChecks& into) {
  into.indices.push_back({.operand = 1, .limit = op.operand_type(0).shape[axis_of(op)]});
}

// x with its axis replaced by the shape of the indices.
Shape gathered_shape(const TypeQuery& q) {
  infer::require_integer(q, 1);
  const Shape &x = q.operand(0).shape, &indices = q.operand(1).shape;
  int64_t axis = infer::normalize_axis(q, q.attr<int64_t>("axis"), q.operand(0).rank());
  Shape shape(x.begin(), x.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), x.begin() + axis + 1, x.end());
  return shape;
}

// For every element of the gathered tensor: f(its position, position in the table).
void for_each_gathered(const ReferenceCall& c, const Extents& table, const Tensor& indices,
                       const std::function<void(int64_t, int64_t)>& f) {
  size_t axis = axis_of(c.op);
  auto count = static_cast<size_t>(indices.rank());
  Extents shape = table;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), indices.shape().begin(),
               indices.shape().end());
  int64_t position = 0;
  for_each_index(shape, [&](const Extents& index) {
    auto first = index.begin() + static_cast<std::ptrdiff_t>(axis);
    Extents which(first, first + static_cast<std::ptrdiff_t>(count));
    int64_t chosen = indices.get_int(flat(which, indices.shape()));
    Extents from(index.begin(), first);
    from.push_back(chosen);
    from.insert(from.end(), first + static_cast<std::ptrdiff_t>(count), index.end());
    f(position++, flat(from, table));
  });
}

// index = the element of the indices; inside = whether it lies within the axis.
struct Chosen {
  Expr index, inside;
};
Chosen choose(Elements& e, const Indices& at) {
  Expr index = loop::cast(loop::Elem::kI64, e.operand(1, at));
  Expr extent = e.size(e.op.operand_type(0).shape[axis_of(e.op)]);
  return {index, (index >= loop::i64(0)) & (index < extent)};
}

// --- gather

std::vector<Type> gather_type(const TypeQuery& q) {
  return {q.operand(0).with_shape(gathered_shape(q))};
}

void gather_reference(ReferenceCall& c) {
  for_each_gathered(c, c.in(0).shape(), c.in(1),
                    [&](int64_t to, int64_t from) { copy_element(c.out(), to, c.in(0), from); });
}

Expr gather_element(Elements& e, int, const Indices& index) {
  auto axis = static_cast<std::ptrdiff_t>(axis_of(e.op));
  std::ptrdiff_t count = e.op.operand_type(1).rank();
  Chosen chosen = choose(e, Indices(index.begin() + axis, index.begin() + axis + count));
  Indices from(index.begin(), index.begin() + axis);
  from.push_back(chosen.index);
  from.insert(from.end(), index.begin() + axis + count, index.end());
  return e.operand(0, from, chosen.inside);
}

// dx: the rows of dy added up where they were taken. For a table of rows that is a row-sparse
// value, made dense here, so that a later stage may keep the rows instead.
void gather_vjp(Vjp& v) {
  if (!v.needs(0)) return;
  Builder& b = v.b;
  Value *table = v.operand(0), *indices = v.operand(1), *dy = v.cotangent();
  if (table->type.rank() == 2 && axis_of(v.op) == 0) {
    Dim count = numel(indices->type.shape);
    Value* flat_indices = build::cast(b, build::reshape(b, indices, {count}), DType::kI64);
    Value* values = build::reshape(b, dy, {count, table->type.shape[1]});
    Value* rows = b.make(kRowsOp, {flat_indices, values}, {{"shape", table->type.shape}});
    return v.give(0, b.make(kDensifyOp, {rows}));
  }
  Value* zeros = build::full_like(b, table, 0);
  v.give(0, b.make(kScatterAddOp, {zeros, indices, dy}, v.op.attrs));
}

constexpr Lowering kGatherLowering{.element = gather_element};
constexpr OpCase kGatherCases[] = {{.operands = "f32[4, 3], i64[5]"},
                                   {.operands = "f32[4, 3], i32[2, 3]"},
                                   {.operands = "f32[4], i64[17]"},
                                   {.operands = "f32[2, 4, 3], i64[2, 2]", .attrs = "axis = 1"},
                                   {.operands = "f32[3, 4], i64[]", .attrs = "axis = -1"},
                                   {.operands = "i64[4, 2], i32[7]"},
                                   {.operands = "f32[4, 3], i64[0]"},
                                   {.operands = "f64[30, 33], i64[129]", .integers = 30}};

// --- scatter_add

std::vector<Type> scatter_type(const TypeQuery& q) {
  infer::require_numeric(q, 0);
  infer::require_same_dtype(q, 0, 2);
  Shape want = gathered_shape(q);
  if (!(q.operand(2).shape == want))
    q.fail("updates must be {} for {} and indices {}, got {}", shape_str(want), q.operand(0).str(),
           q.operand(1).str(), q.operand(2).str());
  return {q.operand(0)};
}

void scatter_reference(ReferenceCall& c) {
  bool real = is_float(c.out().dtype());
  std::vector<double> sums = real ? reals(c.in(0)) : std::vector<double>{};
  for (int64_t i = 0; i < c.out().numel(); ++i) copy_element(c.out(), i, c.in(0), i);
  for_each_gathered(c, c.in(0).shape(), c.in(1), [&](int64_t from, int64_t to) {
    if (real)
      sums[static_cast<size_t>(to)] += c.in(2).get(from);
    else
      c.out().set_int(to, c.out().get_int(to) + c.in(2).get_int(from));
  });
  for (size_t i = 0; i < sums.size(); ++i) c.out().set(static_cast<int64_t>(i), sums[i]);
}

// Indices are walked in order; the slice that one of them names is added in parallel.
Shape scatter_outer(const Op& op) { return op.operand_type(1).shape; }
Shape scatter_inner(const Op& op) {
  Shape shape = op.operand_type(0).shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis_of(op)));
  return shape;
}

Indices scatter_target(Elements& e, const Indices& outer, const Indices& inner) {
  auto axis = static_cast<std::ptrdiff_t>(axis_of(e.op));
  Indices to = inner;
  to.insert(to.begin() + axis, choose(e, outer).index);
  return to;
}

Expr scatter_value(Elements& e, const Indices& outer, const Indices& inner) {
  auto axis = static_cast<std::ptrdiff_t>(axis_of(e.op));
  Indices from = inner;
  from.insert(from.begin() + axis, outer.begin(), outer.end());
  return e.operand(2, from);
}

Expr scatter_valid(Elements& e, const Indices& outer, const Indices&) {
  return choose(e, outer).inside;
}

// dbase = dy, dupdates = dy gathered
void scatter_vjp(Vjp& v) {
  v.give(0, v.cotangent());
  if (v.needs(2)) v.give(2, v.b.make(kGatherOp, {v.cotangent(), v.operand(1)}, v.op.attrs));
}

constexpr Scatter kScatter{.outer = scatter_outer,
                           .inner = scatter_inner,
                           .target = scatter_target,
                           .value = scatter_value,
                           .valid = scatter_valid};
constexpr Lowering kScatterLowering{.scatter = &kScatter};
constexpr OpCase kScatterCases[] = {
    {.operands = "f32[4, 3], i64[5], f32[5, 3]"},
    {.operands = "f32[4, 3], i32[2, 3], f32[2, 3, 3]"},
    {.operands = "f32[4], i64[17], f32[17]"},
    {.operands = "f32[2, 4, 3], i64[2, 2], f32[2, 2, 2, 3]", .attrs = "axis = 1"},
    {.operands = "i64[4, 2], i32[7], i64[7, 2]"},
    {.operands = "f32[4, 3], i64[0], f32[0, 3]"},
    {.operands = "f64[30, 33], i64[129], f64[129, 33]", .integers = 30}};

}  // namespace

constinit const OpDef kGatherOp{
    .name = "gather",
    .doc =
        "Slices of x along `axis` at integer indices of any shape (numpy.take): an embedding "
        "lookup with axis 0. An index outside of the axis is an error.",
    .attrs = kAttrs,
    .min_operands = 2,
    .max_operands = 2,
    .result_type = gather_type,
    .checks = checks,
    .reference = gather_reference,
    .vjp = gather_vjp,
    .lower = &kGatherLowering,
    .cases = kGatherCases,
};

constinit const OpDef kScatterAddOp{
    .name = "scatter_add",
    .doc =
        "base with updates added along `axis` at integer indices: operands base, indices, "
        "updates, the latter shaped as gather's result. An index that occurs twice adds twice, "
        "in order.",
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

}  // namespace tapeless
