// rows and densify: a matrix given by some of its rows, and the matrix. Until a stage makes use of
// the rows alone, both become a scatter into zeros; the interpreter holds such a value densely.
#include "tapeless/ops/build.h"
#include "tapeless/ops/checks.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

// --- rows

std::vector<Type> rows_type(const TypeQuery& q) {
  const Type &indices = q.operand(0), &values = q.operand(1);
  const Shape& shape = q.attr<Shape>("shape");
  infer::require_rank(q, 0, 1);
  infer::require_float(q, 1);
  if (indices.dtype != DType::kI64) q.fail("indices must be i64, got {}", indices.str());
  Shape want = shape;
  if (!want.empty()) want[0] = indices.shape[0];
  if (shape.empty() || !(values.shape == want))
    q.fail("{} rows of {} are {}, got values {}", indices.shape[0].str(), shape_str(shape),
           shape_str(want), values.str());
  return {Type::sparse(values.dtype, shape, indices.shape[0])};
}

void rows_checks(const Op& op, OpChecks& into) {
  into.indices.push_back({.operand = 0, .limit = op.dims("shape")[0]});
}

void rows_reference(ReferenceCall& c) {
  const Tensor &indices = c.in(0), &values = c.in(1);
  std::vector<double> sums(static_cast<size_t>(c.out().numel()));
  int64_t width = indices.numel() == 0 ? 0 : values.numel() / indices.numel();
  for (int64_t i = 0; i < indices.numel(); ++i) {
    int64_t row = indices.get_int(i);
    for (int64_t j = 0; j < width; ++j)
      sums[static_cast<size_t>(row * width + j)] += values.get(i * width + j);
  }
  for (size_t i = 0; i < sums.size(); ++i) c.out().set(static_cast<int64_t>(i), sums[i]);
}

std::vector<Value*> rows_expand(Builder& b, const Op& op, std::span<Value* const> operands) {
  Value* zero = build::constant_like(b, operands[1], 0);
  Value* zeros = build::broadcast_to(b, zero, op.dims("shape"));
  return {b.make(kScatterAddOp, {zeros, operands[0], operands[1]})};
}

// dvalues = the rows of dy
void rows_vjp(Vjp& v) {
  if (v.needs(1)) v.give(1, v.b.make(kGatherOp, {v.cotangent(), v.operand(0)}));
}

constexpr AttrDef kRowsAttrs[] = {
    {.name = "shape", .kind = AttrKind::kShape, .doc = "shape of the whole, [N, ...]"}};

constexpr OpCase kRowsCases[] = {{.operands = "i64[5], f32[5, 3]", .attrs = "shape = [4, 3]"},
                                 {.operands = "i64[0], f32[0, 3]", .attrs = "shape = [4, 3]"}};

// --- densify

std::vector<Type> densify_type(const TypeQuery& q) {
  return {Type(q.operand(0).dtype, q.operand(0).shape)};
}

void densify_reference(ReferenceCall& c) {
  for (int64_t i = 0; i < c.out().numel(); ++i) copy_element(c.out(), i, c.in(0), i);
}

std::vector<Value*> densify_expand(Builder&, const Op&, std::span<Value* const> operands) {
  TL_CHECK(!operands[0]->type.row_sparse, "a row-sparse value is left: {}",
           operands[0]->type.str());
  return {operands[0]};
}

void densify_vjp(Vjp& v) { v.give(0, v.cotangent()); }

constexpr OpCase kDensifyCases[] = {{.operands = "f32[3, 4]"}};

}  // namespace

constinit const OpDef kDensifyOp{
    .name = "densify",
    .doc =
        "The matrix that a row-sparse value stands for; rows that occur twice are summed. A "
        "dense operand is given back.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = densify_type,
    .reference = densify_reference,
    .vjp = densify_vjp,
    .expand = densify_expand,
    .cases = kDensifyCases,
};

constinit const OpDef kRowsOp{
    .name = "rows",
    .doc =
        "The row-sparse matrix of `shape` with the given rows: operands indices i64[T] and "
        "values [T, ...]. Other rows are zero; a row that occurs twice is the sum.",
    .attrs = kRowsAttrs,
    .min_operands = 2,
    .max_operands = 2,
    .result_type = rows_type,
    .checks = rows_checks,
    .reference = rows_reference,
    .vjp = rows_vjp,
    .expand = rows_expand,
    .cases = kRowsCases,
};

}  // namespace tapeless
