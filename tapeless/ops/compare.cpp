// Comparisons: eq, ne, lt, le, gt, ge.
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

constexpr OpCase kCases[] = {
    {.operands = "f32[3, 4], f32[3, 4]"}, {.operands = "i64[3, 17], i64[3, 1]"},
    {.operands = "i32[], i32[7]"},        {.operands = "f32[0, 4], f32[4]"},
    {.operands = "i64[4097], i64[4097]"}, {.operands = "f64[5], f64[5]"}};

}  // namespace

constinit const OpDef kEqOp{
    .name = "eq",
    .doc =
        "x == y, elementwise with NumPy broadcasting, as bool. Operands of one dtype; false for "
        "NaN.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_compare,
    .reference = binary_reference<[](auto x, auto y) { return x == y; }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kEq>,
    .cases = kCases,
};

constinit const OpDef kNeOp{
    .name = "ne",
    .doc =
        "x != y, elementwise with NumPy broadcasting, as bool. Operands of one dtype; true for "
        "NaN.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_compare,
    .reference = binary_reference<[](auto x, auto y) { return x != y; }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kNe>,
    .cases = kCases,
};

constinit const OpDef kLtOp{
    .name = "lt",
    .doc =
        "x < y, elementwise with NumPy broadcasting, as bool. Numbers of one dtype; false for "
        "NaN.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_order,
    .reference = binary_reference<[](auto x, auto y) { return x < y; }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kLt>,
    .cases = kCases,
};

constinit const OpDef kLeOp{
    .name = "le",
    .doc =
        "x <= y, elementwise with NumPy broadcasting, as bool. Numbers of one dtype; false for "
        "NaN.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_order,
    .reference = binary_reference<[](auto x, auto y) { return x <= y; }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kLe>,
    .cases = kCases,
};

constinit const OpDef kGtOp{
    .name = "gt",
    .doc =
        "x > y, elementwise with NumPy broadcasting, as bool. Numbers of one dtype; false for "
        "NaN.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_order,
    .reference = binary_reference<[](auto x, auto y) { return y < x; }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kGt>,
    .cases = kCases,
};

constinit const OpDef kGeOp{
    .name = "ge",
    .doc =
        "x >= y, elementwise with NumPy broadcasting, as bool. Numbers of one dtype; false for "
        "NaN.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_order,
    .reference = binary_reference<[](auto x, auto y) { return x >= y; }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kGe>,
    .cases = kCases,
};

}  // namespace tapeless
