// matmul: products of matrices, batched, either side transposed.
#include "tapeless/ops/build.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/rules.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

constexpr AttrDef kAttrs[] = {
    {.name = "transpose_a", .kind = AttrKind::kBool, .fallback = false, .doc = "a is [..., K, M]"},
    {.name = "transpose_b", .kind = AttrKind::kBool, .fallback = false, .doc = "b is [..., N, K]"}};

Shape batch_of(const Type& t) { return {t.shape.begin(), t.shape.end() - 2}; }
const Dim& from_end(const Type& t, int i) { return t.shape[t.shape.size() - size_t(i)]; }

// Rows and columns of an operand as it enters the product.
const Dim& rows(const Type& t, bool transposed) { return from_end(t, transposed ? 1 : 2); }
const Dim& columns(const Type& t, bool transposed) { return from_end(t, transposed ? 2 : 1); }

std::vector<Type> result_type(const TypeQuery& q) {
  const Type &a = q.operand(0), &b = q.operand(1);
  infer::require_same_dtype(q, 0, 1);
  infer::require_numeric(q, 0);
  if (a.rank() < 2 || b.rank() < 2)
    q.fail("operands must be matrices or batches of them: {} and {}", a.str(), b.str());
  bool ta = q.attr<bool>("transpose_a"), tb = q.attr<bool>("transpose_b");
  if (!(columns(a, ta) == rows(b, tb)))
    q.fail("inner dimensions differ: {} and {}", a.str(), b.str());
  auto batch = broadcast_shapes(batch_of(a), batch_of(b));
  if (!batch) q.fail("batch dimensions do not broadcast: {} and {}", a.str(), b.str());
  batch->push_back(rows(a, ta));
  batch->push_back(columns(b, tb));
  return {Type(a.dtype, *batch)};
}

void reference(ReferenceCall& c) {
  bool ta = c.op.flag("transpose_a"), tb = c.op.flag("transpose_b");
  const Tensor &a = c.in(0), &b = c.in(1);
  int64_t k = a.dim(a.rank() - (ta ? 2 : 1)), i = 0;
  Extents a_batch(a.shape().begin(), a.shape().end() - 2);
  Extents b_batch(b.shape().begin(), b.shape().end() - 2);
  for_each_index(c.out().shape(), [&](const Extents& index) {
    int64_t m = index[index.size() - 2], n = index[index.size() - 1];
    Extents batch(index.begin(), index.end() - 2);
    int64_t a_base = broadcast_flat(batch, a_batch) * a.dim(a.rank() - 2) * a.dim(a.rank() - 1);
    int64_t b_base = broadcast_flat(batch, b_batch) * b.dim(b.rank() - 2) * b.dim(b.rank() - 1);
    double sum = 0;
    int64_t integer_sum = 0;
    for (int64_t j = 0; j < k; ++j) {
      int64_t x = a_base + (ta ? j * a.dim(a.rank() - 1) + m : m * k + j);
      int64_t y = b_base + (tb ? n * k + j : j * b.dim(b.rank() - 1) + n);
      if (is_float(a.dtype()))
        sum += a.get(x) * b.get(y);
      else
        integer_sum += a.get_int(x) * b.get_int(y);
    }
    is_float(a.dtype()) ? c.out().set(i, sum) : c.out().set_int(i, integer_sum);
    ++i;
  });
}

// A batch of one matrix b is one product with more rows: [S, M, K] x [K, N] -> [S M, K] x [K, N].
bool one_b(const Op& op) { return op.operand_type(1).rank() == 2; }

Contraction::Spaces spaces(const Op& op) {
  const Type &a = op.operand_type(0), &b = op.operand_type(1), &z = op.result_type();
  Contraction::Spaces s;
  Shape batch = batch_of(z);
  (one_b(op) ? s.m : s.batch) = batch;
  s.m.push_back(rows(a, op.flag("transpose_a")));
  s.n = {columns(b, op.flag("transpose_b"))};
  s.k = {columns(a, op.flag("transpose_a"))};
  return s;
}

// The operand's batch index under broadcasting, from the result's.
Indices operand_batch(const Type& t, const Indices& batch) {
  Shape own = batch_of(t);
  size_t skip = batch.size() - own.size();
  Indices at;
  for (size_t i = 0; i < own.size(); ++i)
    at.push_back(own[i].is(1) ? loop::i64(0) : batch[i + skip]);
  return at;
}

loop::Expr element_a(Elements& e, const Indices& batch, const Indices& m, const Indices& k) {
  Indices outer = one_b(e.op) ? Indices(m.begin(), m.end() - 1) : batch;
  Indices at = operand_batch(e.op.operand_type(0), outer);
  bool t = e.op.flag("transpose_a");
  at.push_back(t ? k[0] : m.back());
  at.push_back(t ? m.back() : k[0]);
  return e.operand(0, at);
}

loop::Expr element_b(Elements& e, const Indices& batch, const Indices& k, const Indices& n) {
  Indices at = one_b(e.op) ? Indices{} : operand_batch(e.op.operand_type(1), batch);
  bool t = e.op.flag("transpose_b");
  at.push_back(t ? n[0] : k[0]);
  at.push_back(t ? k[0] : n[0]);
  return e.operand(1, at);
}

constexpr Contraction kContraction{.spaces = spaces, .a = element_a, .b = element_b};
constexpr Lowering kLowering{.contraction = &kContraction};

// A batched tensor as one matrix: [S, M, K] -> [S M, K].
Value* flatten(Builder& b, Value* x) {
  Dim all = 1;
  for (size_t i = 0; i + 1 < x->type.shape.size(); ++i) all = all * x->type.shape[i];
  return build::reshape(b, x, {all, x->type.shape.back()});
}

// z = A B, A = a or a^T, B = b or b^T: dA = dz B^T, dB = A^T dz, each built in the operand's own
// orientation. Broadcast batches are summed by the walk, but for a lone b one product does it.
void vjp(Vjp& v) {
  Value *a = v.operand(0), *b = v.operand(1), *dz = v.cotangent();
  bool ta = v.op.flag("transpose_a"), tb = v.op.flag("transpose_b");
  if (v.needs(0))
    v.give(0, ta ? build::matmul(v.b, b, dz, tb, true) : build::matmul(v.b, dz, b, false, !tb));
  if (!v.needs(1)) return;
  if (one_b(v.op) && !ta) {
    a = flatten(v.b, a);
    dz = flatten(v.b, dz);
  }
  v.give(1, tb ? build::matmul(v.b, dz, a, true, ta) : build::matmul(v.b, a, dz, !ta, false));
}

bool swaps_last_two(const Ints& permutation) {
  auto rank = static_cast<int64_t>(permutation.size());
  for (int64_t i = 0; i < rank - 2; ++i)
    if (permutation[static_cast<size_t>(i)] != i) return false;
  return rank >= 2 && permutation.back() == rank - 2;
}

// matmul (transpose a), b -> matmul a, b {transpose_a}; the same for b
template <int Side>
std::vector<Value*> absorb_transpose(Builder& b, const Op& op) {
  const Op* inner = rules::made_by(op.operand(Side), kTransposeOp);
  if (inner == nullptr || !swaps_last_two(inner->ints("permutation"))) return {};
  std::vector<Value*> operands = op.operands;
  operands[Side] = inner->operand(0);
  bool ta = op.flag("transpose_a") != (Side == 0), tb = op.flag("transpose_b") != (Side == 1);
  return {build::matmul(b, operands[0], operands[1], ta, tb)};
}

constexpr RewriteRule kRules[] = {absorb_transpose<0>, absorb_transpose<1>};

constexpr OpCase kCases[] = {
    {.operands = "f32[3, 4], f32[4, 5]"},
    {.operands = "f32[5, 4], f32[5, 3]", .attrs = "transpose_a = true"},
    {.operands = "f32[5, 4], f32[3, 4]", .attrs = "transpose_b = true"},
    {.operands = "f32[4, 5], f32[3, 4]", .attrs = "transpose_a = true, transpose_b = true"},
    {.operands = "f32[2, 3, 4], f32[4, 5]"},
    {.operands = "f32[3, 4], f32[2, 4, 5]"},
    {.operands = "f32[2, 1, 3, 4], f32[5, 4, 3]"},
    {.operands = "f32[0, 4], f32[4, 5]"},
    {.operands = "f32[3, 0], f32[0, 5]"},
    {.operands = "f32[1, 17], f32[17, 1]"},
    {.operands = "f32[37, 129], f32[129, 67]"},
    {.operands = "f64[7, 6], f64[6, 9]"},
    {.operands = "i64[3, 4], i64[4, 5]"}};

}  // namespace

constinit const OpDef kMatmulOp{
    .name = "matmul",
    .doc =
        "The matrix product [..., M, K] x [..., K, N] -> [..., M, N]; leading dimensions "
        "broadcast. Each element is one chain of fused multiply-adds in the order of k.",
    .attrs = kAttrs,
    .min_operands = 2,
    .max_operands = 2,
    .result_type = result_type,
    .reference = reference,
    .vjp = vjp,
    .rules = kRules,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
