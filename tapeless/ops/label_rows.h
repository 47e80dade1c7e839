#pragma once

#include <span>

#include "tapeless/ops/build.h"
#include "tapeless/ops/checks.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"

// What losses over class labels share. Operands: rows of class values [N.., C], labels i32 or i64
// [N..], and optionally class weights [C]. Results: (sum, weight) of the rows whose label is not
// `ignore_index`; the weight of a row is that of its class, 1 without weights.
namespace tapeless::label_rows {

std::vector<Type> result_type(const TypeQuery& q);

/// Labels as comparisons: no gather forward and no scatter backward.
class Rows {
 public:
  Rows(Builder& b, const Op& op, std::span<Value* const> operands);

  Value* hot = nullptr;            // bool [N.., C]: the class is the row's label
  Value* valid = nullptr;          // bool [N..]: the row counts
  Value* class_weights = nullptr;  // [C], or null
  Value* row_weights = nullptr;    // [N..], or null

  /// The element of x [N.., C] or [C] at each row's label: [N..].
  Value* pick(Value* x) const;
  /// Sum over the classes, and the same with the axis kept.
  Value* over_classes(Value* x, bool keepdims = false) const;
  /// x [N..] summed over the rows that count.
  Value* over_rows(Value* x) const;
  /// x [N.., C] in the rows that count, 0 in the others.
  Value* keep_valid(Value* x) const;
  /// The second result.
  Value* weight() const;

 private:
  Builder& b_;
  DType dtype_;
  Shape label_shape_;
  Value* keep(Value* x) const;
};

/// A label is a class or `ignore_index`.
void checks(const Op& op, OpChecks& into);

/// Calls f(row, label, weight of the label) for the rows that count.
void for_each_row(const ReferenceCall& c, const std::function<void(int64_t, int64_t, double)>& f);

inline constexpr AttrDef kIgnoreIndex{.name = "ignore_index",
                                      .kind = AttrKind::kInt,
                                      .fallback = int64_t{-100},
                                      .doc = "rows with this label count for nothing"};

}  // namespace tapeless::label_rows
