// floor_div and remainder: division of integers.
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

std::vector<Type> integer_type(const TypeQuery& q) {
  infer::require_integer(q, 0);
  return infer::broadcast_numeric(q);
}

// As the loop primitives: towards minus infinity, 0 for a divisor of 0, wrapping.
int64_t floor_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<int64_t>(-static_cast<uint64_t>(x));
  int64_t q = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

int64_t remainder(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x - floor_div(x, y) * y; }

constexpr OpCase kCases[] = {{.operands = "i64[3, 4], i64[3, 4]", .integers = 9},
                             {.operands = "i32[17], i32[]", .integers = 100},
                             {.operands = "i64[0, 4], i64[4]"},
                             {.operands = "i64[4097], i64[1]", .integers = 1000}};

}  // namespace

constinit const OpDef kFloorDivOp{
    .name = "floor_div",
    .doc =
        "The floor of x / y, elementwise with NumPy broadcasting, integers. Dividing by 0 "
        "gives 0.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = integer_type,
    .reference = binary_reference<[](auto x, auto y) { return floor_div(int64_t(x), int64_t(y)); }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kFloorDiv>,
    .cases = kCases,
};

constinit const OpDef kRemainderOp{
    .name = "remainder",
    .doc =
        "x - floor_div(x, y) * y, elementwise with NumPy broadcasting, integers: the sign is "
        "that of y. Dividing by 0 gives 0.",
    .min_operands = 2,
    .max_operands = 2,
    .result_type = integer_type,
    .reference = binary_reference<[](auto x, auto y) { return remainder(int64_t(x), int64_t(y)); }>,
    .vjp = kZeroGradient,
    .lower = &kBinaryLowering<loop::Prim::kFloorMod>,
    .cases = kCases,
};

}  // namespace tapeless
