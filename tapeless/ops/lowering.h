#pragma once

#include <vector>

#include "tapeless/ir/module.h"
#include "tapeless/loop/loop.h"

namespace tapeless {

/// An index into a tensor: one i64 scalar expression a dimension.
using Indices = std::vector<loop::Expr>;

/// Elements on demand. Lowering pulls: an op says what an element of its result is in terms of
/// elements of its operands, and lower/ decides whether an operand's element is a load or the
/// operand's own definition in place (fusion).
class Elements {
 public:
  explicit Elements(const Op& op) : op(op) {}
  virtual ~Elements() = default;

  const Op& op;

  /// The element of operand `i` at `index` (of the operand's rank). Where `mask` is given and
  /// false, nothing is read and the element is 0: an index may then lie outside.
  virtual loop::Expr operand(int i, const Indices& index, loop::Expr mask = {}) = 0;
  /// The element of operand `i` at row-major position `position`.
  virtual loop::Expr operand_flat(int i, loop::Expr position) = 0;
  /// A size at run time.
  virtual loop::Expr size(const Dim& dim) = 0;

  /// The element that broadcasting puts at `index` of the result.
  loop::Expr broadcast_operand(int i, const Indices& index, loop::Expr mask = {});
  /// Row-major position of `index` in `shape`.
  virtual loop::Expr flat(const Indices& index, const Shape& shape);
  /// The index at a row-major position of `shape`.
  virtual Indices unflatten(loop::Expr position, const Shape& shape);
};

loop::Type scalar_type(DType dtype);

/// result[i...] = finish(combine over r... of element(i..., r...)). Ties of argmax and argmin go to
/// the first position; their result is the row-major position in the reduced space.
struct Reduction {
  enum class Kind : uint8_t { kSum, kProd, kMax, kMin, kArgMax, kArgMin };
  Kind kind = Kind::kSum;
  /// The reduced space.
  Shape (*extents)(const Op& op) = nullptr;
  loop::Expr (*element)(Elements& e, const Indices& result, const Indices& reduced) = nullptr;
  /// Windows overlap: an element of the operand may be read several times (pooling).
  bool window = false;
  /// Applied to the combined value; null for none.
  loop::Expr (*finish)(Elements& e, loop::Expr value) = nullptr;
};

/// result[batch..., m..., n...] = sum over k... of a(batch, m, k) * b(batch, k, n), a chain of
/// fused multiply-adds in the order of k. Index lists of any length (also empty): convolutions have
/// two or three dimensions in n and k.
struct Contraction {
  struct Spaces {
    Shape batch, m, n, k;
  };
  Spaces (*spaces)(const Op& op) = nullptr;
  loop::Expr (*a)(Elements& e, const Indices& batch, const Indices& m, const Indices& k) = nullptr;
  loop::Expr (*b)(Elements& e, const Indices& batch, const Indices& k, const Indices& n) = nullptr;
  /// The result's index from batch, m and n; null: they follow one another.
  Indices (*result)(Elements& e, const Indices& batch, const Indices& m,
                    const Indices& n) = nullptr;
};

/// result = operand 0, then for every position u of the update space in row-major order:
/// result[target(u)] += value(u), skipped where `valid` (if any) is false.
struct Scatter {
  /// The outer space is walked in order, once for each position of the parallel inner space:
  /// target must differ for different inner positions.
  Shape (*outer)(const Op& op) = nullptr;
  Shape (*inner)(const Op& op) = nullptr;
  Indices (*target)(Elements& e, const Indices& outer, const Indices& inner) = nullptr;
  loop::Expr (*value)(Elements& e, const Indices& outer, const Indices& inner) = nullptr;
  loop::Expr (*valid)(Elements& e, const Indices& outer, const Indices& inner) = nullptr;
};

/// How an op becomes loops: exactly one of the members is set.
struct Lowering {
  /// The element of result `result` at `index`.
  loop::Expr (*element)(Elements& e, int result, const Indices& index) = nullptr;
  const Reduction* reduction = nullptr;
  const Contraction* contraction = nullptr;
  const Scatter* scatter = nullptr;
  /// `element` reads each operand at most once, and only at the result's own index (after
  /// broadcasting): in-place updates and epilogues rely on it.
  bool pointwise = false;
  /// The result is the operand's memory read in another shape: no kernel at all.
  bool alias = false;
};

}  // namespace tapeless
