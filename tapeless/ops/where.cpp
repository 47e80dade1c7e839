// where: a choice, element by element.
#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"
#include "tapeless/ops/rules.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  if (q.operand(0).dtype != DType::kBool)
    q.fail("the condition must be bool, got {}", q.operand(0).str());
  infer::require_same_dtype(q, 1, 2);
  auto shape = broadcast_shapes(q.operand(0).shape, infer::broadcast(q, 1, 2));
  if (!shape)
    q.fail("shapes do not broadcast: {}, {} and {}", q.operand(0).str(), q.operand(1).str(),
           q.operand(2).str());
  return {q.operand(1).with_shape(*shape)};
}

void reference(ReferenceCall& c) {
  int64_t i = 0;
  for_each_index(c.out().shape(), [&](const Extents& index) {
    bool condition = c.in(0).get_int(broadcast_flat(index, c.in(0).shape())) != 0;
    const Tensor& from = c.in(condition ? 1 : 2);
    int64_t at = broadcast_flat(index, from.shape());
    is_float(from.dtype()) ? c.out().set(i, from.get(at)) : c.out().set_int(i, from.get_int(at));
    ++i;
  });
}

loop::Expr element(Elements& e, int, const Indices& index) {
  return loop::select(e.broadcast_operand(0, index), e.broadcast_operand(1, index),
                      e.broadcast_operand(2, index));
}

// z = c ? x : y: dx = c ? dz : 0, dy = c ? 0 : dz
void vjp(Vjp& v) {
  if (v.needs(1)) v.give(1, build::keep_where(v.b, v.operand(0), v.cotangent()));
  if (v.needs(2)) v.give(2, build::zero_where(v.b, v.operand(0), v.cotangent()));
}

constexpr Lowering kLowering{.element = element, .pointwise = true};
// A condition that is known, or no choice at all.
std::vector<Value*> choose(Builder& b, const Op& op) {
  std::optional<double> condition = rules::splat(op.operand(0));
  if (!condition && op.operand(1) != op.operand(2)) return {};
  Value* chosen = op.operand(!condition || *condition != 0 ? 1 : 2);
  return {build::broadcast_to(b, chosen, op.result_type().shape)};
}

constexpr RewriteRule kRules[] = {choose};
constexpr OpCase kCases[] = {
    {.operands = "bool[3, 3], f32[3, 1], f32[3, 3]"},    {.operands = "bool[17], f32[], f32[17]"},
    {.operands = "bool[2, 1], f32[1, 3], f32[4, 1, 1]"}, {.operands = "bool[0], f32[0], f32[]"},
    {.operands = "bool[4097], f64[4097], f64[4097]"},    {.operands = "bool[7], i64[7], i64[]"}};

}  // namespace

constinit const OpDef kWhereOp{
    .name = "where",
    .doc =
        "x where the condition (first operand, bool) holds, else y; NumPy broadcasting over all "
        "three. What is not chosen gets gradient 0, whatever its value.",
    .min_operands = 3,
    .max_operands = 3,
    .result_type = result_type,
    .reference = reference,
    .vjp = vjp,
    .rules = kRules,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
