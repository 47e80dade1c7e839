#pragma once

#include <vector>

#include "tapeless/ir/op_def.h"

namespace tapeless::infer {

// Result types shared by families of ops. All throw CompileErrors through TypeQuery::fail.

/// One float operand; the same type.
std::vector<Type> same_float(const TypeQuery& q);
/// One operand of numbers (floats or integers); the same type.
std::vector<Type> same_numeric(const TypeQuery& q);
/// One float operand; bool in its shape.
std::vector<Type> float_to_bool(const TypeQuery& q);
/// Two operands of one numeric dtype, broadcast.
std::vector<Type> broadcast_numeric(const TypeQuery& q);
/// Two operands of one float dtype, broadcast.
std::vector<Type> broadcast_float(const TypeQuery& q);
/// Two operands of one dtype (no keys), broadcast; the result is bool.
std::vector<Type> broadcast_compare(const TypeQuery& q);
/// The same for numbers only.
std::vector<Type> broadcast_order(const TypeQuery& q);
/// Two bools, broadcast.
std::vector<Type> broadcast_logical(const TypeQuery& q);
/// Attributes `axes` (all where absent) and `keepdims`: the operand's shape reduced.
std::vector<Type> reduce_numeric(const TypeQuery& q);
std::vector<Type> reduce_float(const TypeQuery& q);
/// The reduced shape alone, axes checked.
Shape reduce_any(const TypeQuery& q);

/// Operands must have equal dtypes; fails with both types.
void require_same_dtype(const TypeQuery& q, int a, int b);
void require_float(const TypeQuery& q, int i);
void require_integer(const TypeQuery& q, int i);
void require_numeric(const TypeQuery& q, int i);
void require_rank(const TypeQuery& q, int i, int rank);
Shape broadcast(const TypeQuery& q, int a, int b);

/// An axis in [-rank, rank) made non-negative; fails otherwise.
int64_t normalize_axis(const TypeQuery& q, int64_t axis, int rank);
/// The axes of a reduction over an operand of this rank: sorted, unique, non-negative; all of them
/// where the attribute `axes` is absent.
Ints reduced_axes(const AttrMap& attrs, int rank);
Shape reduced_shape(const Shape& shape, const Ints& axes, bool keepdims);

}  // namespace tapeless::infer
