// Logic on bools: logical_and, logical_or, logical_xor, logical_not.
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

std::vector<Type> not_type(const TypeQuery& q) {
  if (q.operand(0).dtype != DType::kBool) q.fail("expected bools, got {}", q.operand(0).str());
  return {q.operand(0)};
}

constexpr OpCase kBinaryBoolCases[] = {{.operands = "bool[3, 4], bool[3, 4]", .integers = 2},
                                       {.operands = "bool[3, 17], bool[3, 1]", .integers = 2},
                                       {.operands = "bool[], bool[7]", .integers = 2},
                                       {.operands = "bool[0, 4], bool[4]", .integers = 2},
                                       {.operands = "bool[4097], bool[4097]", .integers = 2}};
constexpr OpCase kNotCases[] = {{.operands = "bool[3, 4]", .integers = 2},
                                {.operands = "bool[0]", .integers = 2},
                                {.operands = "bool[4097]", .integers = 2}};

}  // namespace

constinit const OpDef kLogicalAndOp{
    .name = "logical_and",
    .doc = "Whether both hold, elementwise with NumPy broadcasting, bools.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_logical,
    .reference = binary_reference<[](auto x, auto y) { return x != 0 && y != 0; }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kAnd>,
    .cases = kBinaryBoolCases,
};

constinit const OpDef kLogicalOrOp{
    .name = "logical_or",
    .doc = "Whether one or both hold, elementwise with NumPy broadcasting, bools.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_logical,
    .reference = binary_reference<[](auto x, auto y) { return x != 0 || y != 0; }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kOr>,
    .cases = kBinaryBoolCases,
};

constinit const OpDef kLogicalXorOp{
    .name = "logical_xor",
    .doc = "Whether exactly one holds, elementwise with NumPy broadcasting, bools.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = infer::broadcast_logical,
    .reference = binary_reference<[](auto x, auto y) { return (x != 0) != (y != 0); }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kXor>,
    .cases = kBinaryBoolCases,
};

constinit const OpDef kLogicalNotOp{
    .name = "logical_not",
    .doc = "Whether it does not hold, elementwise, bools.",
    .min_operands = 1,
    .max_operands = 1,
    .result_type = not_type,
    .reference = unary_reference<[](auto x) { return x == 0; }>,
    .vjp = kZeroGradient,
    .lower = &kUnaryLowering<loop::Prim::kNot>,
    .cases = kNotCases,
};

}  // namespace tapeless
