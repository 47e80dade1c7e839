// Losses of predictions and targets element by element: bce_with_logits, huber, l1, mse. Each gives
// (sum over all elements, number of elements).
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  infer::require_float(q, 0);
  if (!(q.operand(0) == q.operand(1)))
    q.fail("predictions are {}, targets {}", q.operand(0).str(), q.operand(1).str());
  return {Type(q.operand(0).dtype, {}), Type(q.operand(0).dtype, {})};
}

// F: (op, x, y) -> loss of one element
template <auto F>
void reference(ReferenceCall& c) {
  double sum = 0;
  for (int64_t i = 0; i < c.in(0).numel(); ++i) sum += F(c.op, c.in(0).get(i), c.in(1).get(i));
  c.out(0).set(0, sum);
  c.out(1).set(0, static_cast<double>(c.in(0).numel()));
}

std::vector<Value*> sum_and_count(Builder& b, Value* losses) {
  Ints axes;
  for (int64_t i = 0; i < losses->type.rank(); ++i) axes.push_back(i);
  return {build::sum(b, losses, axes), build::numel(b, losses->type.dtype, losses->type.shape)};
}

// Gives L slope to x and -L slope to y, where the loss is a function of x - y.
void give_difference(Vjp& v, Value* slope) {
  Value* dx = build::mul(v.b, v.cotangent(), slope);
  v.give(0, dx);
  if (v.needs(1)) v.give(1, build::neg(v.b, dx));
}

Value* difference(Vjp& v) { return build::sub(v.b, v.operand(0), v.operand(1)); }

// --- bce_with_logits: max(z, 0) - z y + log1p(e^-|z|)

double bce(const Op&, double z, double y) {
  return std::fmax(z, 0) - z * y + std::log1p(std::exp(-std::fabs(z)));
}

// log(1 + e^z) - z y; softplus is the stable form of the first term
std::vector<Value*> bce_expansion(Builder& b, const Op&, std::span<Value* const> operands) {
  Value *z = operands[0], *y = operands[1];
  return sum_and_count(b, build::sub(b, b.make(kSoftplusOp, {z}), build::mul(b, z, y)));
}

// dz = L (sigmoid z - y), dy = -L z
void bce_vjp(Vjp& v) {
  if (v.cotangent() == nullptr) return;
  Builder& b = v.b;
  if (v.needs(0)) {
    Value* miss = build::sub(b, build::sigmoid(b, v.operand(0)), v.operand(1));
    v.give(0, build::mul(b, v.cotangent(), miss));
  }
  if (v.needs(1)) v.give(1, build::neg(b, build::mul(b, v.cotangent(), v.operand(0))));
}

// --- huber: d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2)

std::vector<Type> huber_type(const TypeQuery& q) {
  double delta = q.attr<double>("delta");
  if (!(delta > 0)) q.fail("delta must be positive, got {}", delta);
  return result_type(q);
}

double huber(const Op& op, double x, double y) {
  double d = std::fabs(x - y), delta = op.real("delta");
  return d <= delta ? 0.5 * d * d : delta * (d - 0.5 * delta);
}

// With m = min(|d|, delta) both branches are m (|d| - m / 2).
std::vector<Value*> huber_expansion(Builder& b, const Op& op, std::span<Value* const> operands) {
  Value* size = b.make(kAbsOp, {build::sub(b, operands[0], operands[1])});
  Value* m = b.make(kClampOp, {size}, {{"max", op.real("delta")}});
  return sum_and_count(b, build::mul(b, m, build::sub(b, size, build::mul(b, m, 0.5))));
}

// dx = L clamp(d, -delta, delta)
void huber_vjp(Vjp& v) {
  if (v.cotangent() == nullptr) return;
  double delta = v.op.real("delta");
  give_difference(v, v.b.make(kClampOp, {difference(v)}, {{"min", -delta}, {"max", delta}}));
}

// --- l1: |d|, and mse: d^2

std::vector<Value*> l1_expansion(Builder& b, const Op&, std::span<Value* const> operands) {
  return sum_and_count(b, b.make(kAbsOp, {build::sub(b, operands[0], operands[1])}));
}

// dx = L sign(d)
void l1_vjp(Vjp& v) {
  if (v.cotangent() == nullptr) return;
  give_difference(v, v.b.make(kSignOp, {difference(v)}));
}

std::vector<Value*> mse_expansion(Builder& b, const Op&, std::span<Value* const> operands) {
  return sum_and_count(b, b.make(kSquareOp, {build::sub(b, operands[0], operands[1])}));
}

// dx = 2 L d
void mse_vjp(Vjp& v) {
  if (v.cotangent() == nullptr) return;
  give_difference(v, build::mul(v.b, difference(v), 2));
}

constexpr AttrDef kHuberAttrs[] = {{.name = "delta",
                                    .kind = AttrKind::kReal,
                                    .fallback = 1.0,
                                    .doc = "where the parabola becomes a line"}};
constexpr OpCase kCases[] = {
    {.operands = "f32[3, 4], f32[3, 4]"},       {.operands = "f32[], f32[]"},
    {.operands = "f32[0, 4], f32[0, 4]"},       {.operands = "f32[17], f32[17]"},
    {.operands = "f32[4097, 1], f32[4097, 1]"}, {.operands = "f64[2, 3, 5], f64[2, 3, 5]"}};
constexpr OpCase kHuberCases[] = {{.operands = "f32[3, 4], f32[3, 4]"},
                                  {.operands = "f32[17], f32[17]", .attrs = "delta = 0.5"},
                                  {.operands = "f32[0, 4], f32[0, 4]"},
                                  {.operands = "f64[7], f64[7]", .attrs = "delta = 2.0"}};

}  // namespace

constinit const OpDef kBceWithLogitsOp{
    .name = "bce_with_logits",
    .doc =
        "(sum, count) of the binary cross-entropy of sigmoid(z) with targets y in [0, 1], as "
        "max(z, 0) - z y + log1p(e^-|z|). Operands: z and y of one float type. The mean is "
        "sum / count.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = result_type,
    .reference = reference<bce>,
    .vjp = bce_vjp,
    .expand = bce_expansion,
    .cases = kCases,
};

constinit const OpDef kHuberOp{
    .name = "huber",
    .doc =
        "(sum, count) of (x - y)^2 / 2 where |x - y| <= delta, else delta (|x - y| - delta / 2). "
        "Operands of one float type. The mean is sum / count.",
    .attrs = kHuberAttrs,
    .min_operands = 2,
    .max_operands = 2,
    .result_type = huber_type,
    .reference = reference<huber>,
    .vjp = huber_vjp,
    .expand = huber_expansion,
    .cases = kHuberCases,
};

constinit const OpDef kL1Op{
    .name = "l1",
    .doc =
        "(sum, count) of |x - y|; the gradient where x = y is 0. Operands of one float type. The "
        "mean is sum / count.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = result_type,
    .reference = reference<[](const Op&, double x, double y) { return std::fabs(x - y); }>,
    .vjp = l1_vjp,
    .expand = l1_expansion,
    .cases = kCases,
};

constinit const OpDef kMseOp{
    .name = "mse",
    .doc = "(sum, count) of (x - y)^2. Operands of one float type. The mean is sum / count.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = result_type,
    .reference = reference<[](const Op&, double x, double y) { return (x - y) * (x - y); }>,
    .vjp = mse_vjp,
    .expand = mse_expansion,
    .cases = kCases,
};

}  // namespace tapeless
