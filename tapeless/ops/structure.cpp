// Ops that shape the program itself: call, fused, constant, cast, set_state.
#include "tapeless/ops/build.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"
#include "tapeless/ops/rules.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

// --- call and fused

std::vector<Type> call_type(const TypeQuery& q) {
  TL_CHECK(q.module != nullptr, "a call needs its module");
  const Function* callee = q.module->get(q.attr<FunctionRef>("callee").name, q.loc);
  return call_result_types(*callee, q.operands, q.loc);
}

constexpr AttrDef kCallAttrs[] = {
    {.name = "callee", .kind = AttrKind::kFunction, .doc = "the function called"},
    {.name = "mode",
     .kind = AttrKind::kString,
     .optional = true,
     .doc = "train or infer, where it differs from the caller's"}};
constexpr AttrDef kFusedAttrs[] = {
    {.name = "callee", .kind = AttrKind::kFunction, .doc = "the region: one kernel"}};

// --- constant

std::vector<Type> constant_type(const TypeQuery& q) {
  const Tensor& value = q.attr<Tensor>("value");
  Shape shape(value.shape().begin(), value.shape().end());
  return {Type(value.dtype(), shape)};
}

void constant_reference(ReferenceCall& c) { c.out() = std::get<Tensor>(c.op.attrs.at("value")); }

// A scalar is an immediate; bigger constants are buffers of the executable and never lowered.
loop::Expr constant_element(Elements& e, int, const Indices&) {
  const Tensor& value = e.op.attr<Tensor>("value");
  TL_CHECK(value.rank() == 0, "a constant {} is a buffer", value.type_str());
  loop::Type type = scalar_type(value.dtype());
  return is_float(value.dtype()) ? loop::constant(type, value.get(0))
                                 : loop::int_constant(type, value.get_int(0));
}

constexpr AttrDef kConstantAttrs[] = {
    {.name = "value", .kind = AttrKind::kTensor, .doc = "the elements"}};
constexpr Lowering kConstantLowering{.element = constant_element, .pointwise = true};

// --- cast

std::vector<Type> cast_type(const TypeQuery& q) {
  DType to = q.attr<DType>("to");
  if (q.operand(0).dtype == DType::kKey || to == DType::kKey)
    q.fail("a key is not cast: {} to {}", q.operand(0).str(), dtype_name(to));
  return {q.operand(0).with_dtype(to)};
}

void cast_reference(ReferenceCall& c) { c.out() = c.in(0).cast(c.out().dtype()); }

loop::Expr cast_element(Elements& e, int, const Indices& index) {
  loop::Expr x = e.operand(0, index);
  loop::Elem to = loop::elem_of(e.op.result_type().dtype);
  if (to == loop::Elem::kBool) return loop::ne(x, loop::literal_like(x, 0));
  return loop::cast(to, x);
}

// dx = dy in x's dtype; between floats only
void cast_vjp(Vjp& v) {
  if (is_float(v.op.operand_type(0).dtype) && is_float(v.op.result_type().dtype))
    v.give(0, build::cast(v.b, v.cotangent(), v.op.operand_type(0).dtype));
}

// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  switch (to) {
    case DType::kF64:
      return from != DType::kI64;
    case DType::kF32:
      return is_float(from) ? from != DType::kF64 : dtype_size(from) == 1;
    case DType::kI64:
      return !is_float(from);
    case DType::kI32:
      return !is_float(from) && from != DType::kI64;
    default:
      return false;
  }
}

// To the dtype it has: x. Of a cast that loses nothing: one cast.
std::vector<Value*> join_casts(Builder& b, const Op& op) {
  DType to = op.attr<DType>("to");
  if (op.operand_type(0).dtype == to) return {op.operand(0)};
  const Op* inner = rules::made_by(op.operand(0), kCastOp);
  if (inner == nullptr || !widens(inner->operand_type(0).dtype, inner->result_type().dtype))
    return {};
  return {build::cast(b, inner->operand(0), to)};
}

constexpr RewriteRule kCastRules[] = {join_casts};
constexpr AttrDef kCastAttrs[] = {{.name = "to", .kind = AttrKind::kDType, .doc = "dtype of y"}};
constexpr Lowering kCastLowering{.element = cast_element, .pointwise = true};
constexpr OpCase kCastCases[] = {
    {.operands = "f32[3, 5]", .attrs = "to = f64"},
    {.operands = "f64[7]", .attrs = "to = f32"},
    {.operands = "i64[17]", .attrs = "to = f32"},
    {.operands = "f32[17]", .attrs = "to = i32", .skip_gradient = true},
    {.operands = "bool[9]", .attrs = "to = f32"},
    {.operands = "f32[33]", .attrs = "to = bf16"}};

// --- set_state

std::vector<Type> set_state_type(const TypeQuery& q) {
  if (!(q.operand(0) == q.operand(1)))
    q.fail("state is {}, its new value {}", q.operand(0).str(), q.operand(1).str());
  return {};
}

}  // namespace

constinit const OpDef kCallOp{
    .name = "call",
    .doc = "Calls a function of the module. `mode` overrides the caller's: a frozen backbone.",
    .attrs = kCallAttrs,
    .max_operands = -1,
    .result_type = call_type,
    .vjp = kNoGradient,  // autodiff differentiates the callee
};

constinit const OpDef kFusedOp{
    .name = "fused",
    .doc = "A region that becomes one kernel: its callee holds the ops.",
    .attrs = kFusedAttrs,
    .max_operands = -1,
    .legal_from = Stage::kFused,
    .result_type = call_type,
    .vjp = kNoGradient,
};

constinit const OpDef kConstantOp{
    .name = "constant",
    .doc = "A tensor known at compile time.",
    .attrs = kConstantAttrs,
    .result_type = constant_type,
    .reference = constant_reference,
    .vjp = kZeroGradient,
    .lower = &kConstantLowering,
};

constinit const OpDef kCastOp{
    .name = "cast",
    .doc =
        "x in another dtype. Float to integer truncates towards zero and saturates; to bool is "
        "x != 0; a float is rounded to nearest even.",
    .attrs = kCastAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = cast_type,
    .reference = cast_reference,
    .vjp = cast_vjp,
    .rules = kCastRules,
    .lower = &kCastLowering,
    .cases = kCastCases,
};

constinit const OpDef kSetStateOp{
    .name = "set_state",
    .doc =
        "From here on the state parameter (first operand) has a new value (second operand): "
        "later reads see it, and in train mode the function returns it. An error in infer mode.",
    .min_operands = 2,
    .max_operands = 2,
    .legal_until = Stage::kSource,
    .result_type = set_state_type,
    .vjp = kNoGradient,
};

}  // namespace tapeless
