// layer_norm: normalisation over the last axes of each row.
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

constexpr AttrDef kAttrs[] = {{.name = "rank",
                               .kind = AttrKind::kInt,
                               .fallback = int64_t{1},
                               .doc = "how many trailing axes make up a row"},
                              {.name = "eps",
                               .kind = AttrKind::kReal,
                               .fallback = 1e-5,
                               .doc = "added to the variance before the root"}};

// The trailing axes of x that make up a row.
Shape row_shape(const Shape& x, int64_t rank) { return {x.end() - rank, x.end()}; }

Ints row_axes(const Op& op) {
  Ints axes;
  for (int64_t i = op.integer("rank"); i > 0; --i) axes.push_back(op.operand_type(0).rank() - i);
  return axes;
}

std::vector<Type> result_type(const TypeQuery& q) {
  infer::require_float(q, 0);
  const Type& x = q.operand(0);
  int64_t rank = q.attr<int64_t>("rank");
  if (rank < 1 || rank > x.rank()) q.fail("{} has no {} trailing axes", x.str(), rank);
  Type row(x.dtype, row_shape(x.shape, rank));
  for (int i = 1; i < q.count(); ++i)
    if (!(q.operand(i) == row))
      q.fail("{} must be {} for x {}, got {}", i == 1 ? "scale" : "bias", row.str(), x.str(),
             q.operand(i).str());
  return {x};
}

void reference(ReferenceCall& c) {
  const Tensor& x = c.in(0);
  int64_t n = 1;
  for (int64_t i = 1; i <= c.op.integer("rank"); ++i) n *= x.dim(static_cast<int>(x.rank() - i));
  for (int64_t row = 0; row < x.numel(); row += n) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; ++i) mean += x.get(row + i) / double(n);
    for (int64_t i = 0; i < n; ++i)
      variance += (x.get(row + i) - mean) * (x.get(row + i) - mean) / double(n);
    for (int64_t i = 0; i < n; ++i) {
      double y = (x.get(row + i) - mean) / std::sqrt(variance + c.op.real("eps"));
      if (c.in_count() > 1) y *= c.in(1).get(i);
      if (c.in_count() > 2) y += c.in(2).get(i);
      c.out().set(row + i, y);
    }
  }
}

Value* row_mean(Builder& b, const Op& op, Value* x, Value* per_element) {
  return build::sum(b, build::mul(b, x, per_element), row_axes(op), true);
}

struct Normal {
  Value* normal;       // (x - mean) / deviation
  Value* inverse;      // 1 / deviation, with row axes of size 1
  Value* per_element;  // 1 / n, a scalar
};

// Two passes. The mean is a sum of x / n, so that it cannot overflow. Where squares of the centred
// row overflow, the row is scaled by a power of two first (eps does not count there): a row near
// the largest number is normalised as well as any other.
Normal normalise(Builder& b, const Op& op, Value* x) {
  const Type& type = x->type;
  Value* one = build::constant_like(b, x, 1);
  Value* per_element =
      build::div(b, one, build::numel(b, type.dtype, row_shape(type.shape, op.integer("rank"))));
  Value* centred = build::sub(b, x, row_mean(b, op, x, per_element));
  double small = std::ldexp(1.0, type.dtype == DType::kF64 ? -768 : -96);
  Value* scaled = build::mul(b, centred, small);
  Value* variance = row_mean(b, op, build::mul(b, centred, centred), per_element);
  Value* scaled_variance = row_mean(b, op, build::mul(b, scaled, scaled), per_element);
  Value* finite = b.make(kIsFiniteOp, {variance});
  Value* factor = build::where(b, finite, one, build::constant_like(b, x, small));
  Value* safe =
      build::where(b, finite, build::add(b, variance, build::constant_like(b, x, op.real("eps"))),
                   scaled_variance);
  Value* root = b.make(kRsqrtOp, {safe});
  return {build::mul(b, build::mul(b, centred, factor), root), build::mul(b, factor, root),
          per_element};
}

std::vector<Value*> expand(Builder& b, const Op& op, std::span<Value* const> operands) {
  Value* y = normalise(b, op, operands[0]).normal;
  if (operands.size() > 1) y = build::mul(b, y, operands[1]);
  if (operands.size() > 2) y = build::add(b, y, operands[2]);
  return {y};
}

// With z the normalised row and g = dy scale, means over a row:
//   dscale = dy z,  dbias = dy (the walk sums both over rows),
//   dx = (g - mean g - z mean(g z)) / deviation
void vjp(Vjp& v) {
  Builder& b = v.b;
  Value* dy = v.cotangent();
  bool scaled = v.operand_count() > 1;
  if (v.operand_count() > 2) v.give(2, dy);
  if (!v.needs(0) && !(scaled && v.needs(1))) return;
  Normal z = normalise(b, v.op, v.operand(0));
  if (scaled && v.needs(1)) v.give(1, build::mul(b, dy, z.normal));
  if (!v.needs(0)) return;
  Value* g = scaled ? build::mul(b, dy, v.operand(1)) : dy;
  Value* mean = row_mean(b, v.op, g, z.per_element);
  Value* along = row_mean(b, v.op, build::mul(b, g, z.normal), z.per_element);
  Value* inside = build::sub(b, build::sub(b, g, mean), build::mul(b, z.normal, along));
  v.give(0, build::mul(b, inside, z.inverse));
}

constexpr OpCase kCases[] = {
    {.operands = "f32[3, 5], f32[5], f32[5]"},
    {.operands = "f32[2, 3, 17], f32[17], f32[17]", .attrs = "eps = 0.1"},
    {.operands = "f32[2, 3, 4], f32[3, 4], f32[3, 4]", .attrs = "rank = 2"},
    {.operands = "f32[3, 7]"},
    {.operands = "f32[3, 7], f32[7]"},
    {.operands = "f32[0, 4], f32[4], f32[4]"},
    {.operands = "f32[2, 4097], f32[4097], f32[4097]", .skip_gradient = true},
    {.operands = "f64[3, 6], f64[6], f64[6]"}};

}  // namespace

constinit const OpDef kLayerNormOp{
    .name = "layer_norm",
    .doc =
        "Each row of x (its last `rank` axes) minus its mean, over sqrt(variance + eps) with "
        "the biased variance; then, where given, times scale and plus bias.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = 3,
    .result_type = result_type,
    .reference = reference,
    .vjp = vjp,
    .expand = expand,
    .cases = kCases,
};

}  // namespace tapeless
