// numel: a size as a value.
#include "tapeless/ops/build.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  DType dtype = q.attr<DType>("dtype");
  if (!is_float(dtype) && !is_integer(dtype))
    q.fail("a count is a number, got {}", dtype_name(dtype));
  return {Type(dtype, {})};
}

void reference(ReferenceCall& c) { c.out().set(0, static_cast<double>(product(c.dims("shape")))); }

loop::Expr element(Elements& e, int, const Indices&) {
  loop::Expr count = e.size(numel(e.op.dims("shape")));
  return loop::cast(loop::elem_of(e.op.result_type().dtype), count);
}

constexpr AttrDef kAttrs[] = {
    {.name = "shape", .kind = AttrKind::kShape, .doc = "the sizes that are multiplied"},
    {.name = "dtype", .kind = AttrKind::kDType, .doc = "dtype of the result"}};
constexpr Lowering kLowering{.element = element, .pointwise = true};
std::vector<Value*> known(Builder& b, const Op& op) {
  Dim count = numel(op.dims("shape"));
  if (!count.is_constant()) return {};
  return {build::constant(b, op.result_type().dtype, static_cast<double>(count.constant()))};
}

constexpr RewriteRule kRules[] = {known};
constexpr OpCase kCases[] = {{.operands = "", .attrs = "shape = [3, 5], dtype = f32"},
                             {.operands = "", .attrs = "shape = [0, 5], dtype = i64"},
                             {.operands = "", .attrs = "shape = [], dtype = f64"}};

}  // namespace

constinit const OpDef kNumelOp{
    .name = "numel",
    .doc =
        "The product of the sizes of `shape`, symbols included, as a scalar: what a mean over a "
        "dimension known only at run time divides by.",
    .attrs = kAttrs,
    .result_type = result_type,
    .reference = reference,
    .vjp = kZeroGradient,
    .rules = kRules,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
