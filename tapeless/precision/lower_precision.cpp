// Mixed precision: the operands of listed ops are rounded, and so is the cotangent of their result,
// which is an operand of both contractions of the backward.
//
//   %y = matmul %x, %w    ->    %1 = round_to %x {to = bf16}
//                               %2 = round_to %w {to = bf16}
//                               %3 = matmul %1, %2
//                               %y = round_cotangent %3 {to = bf16}
#include "tapeless/precision/lower_precision.h"

#include <algorithm>

#include "tapeless/ir/clone.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

// Everything else adds up or is elementwise: it gains no speed and loses digits.
constexpr const OpDef* kLowered[] = {&kConv2dOp, &kMatmulOp};

bool is_lowered(const Op& op) {
  return std::count(std::begin(kLowered), std::end(kLowered), &op.def()) > 0 &&
         op.result_type().dtype == DType::kF32;
}

void lower_op(Builder& b, const Op& op, ValueMap& map, DType to) {
  b.set_loc(op.loc.derived("precision of"));
  ValueMap rounded;
  for (const Value* v : op.operands)
    if (rounded.find(v) == nullptr) rounded.set(v, b.make(kRoundToOp, {map[v]}, {{"to", to}}));
  Op* copy = clone_op(b, op, rounded);
  copy->result()->name.clear();
  Value* result = b.make(kRoundCotangentOp, {copy->result()}, {{"to", to}});
  map.set(op.result(), Builder::named(result, op.result()->name));
}

}  // namespace

Module lower_precision(const Module& module, DType to) {
  TL_CHECK(module.stage == Stage::kSpecialized, "precision comes before differentiation");
  Module out;
  out.stage = module.stage;
  out.optimizers = module.optimizers;
  for (const auto& f : module.functions) {
    ValueMap map;
    std::unique_ptr<Function> made = clone_signature(*f, map);
    Builder b(*made, &module);
    for (const auto& op : f->body)
      is_lowered(*op) ? lower_op(b, *op, map, to) : static_cast<void>(clone_op(b, *op, map));
    for (size_t i = 0; i < f->results.size(); ++i)
      made->add_result(map[f->results[i]], f->result_names[i]);
    out.functions.push_back(std::move(made));
  }
  return out;
}

}  // namespace tapeless
