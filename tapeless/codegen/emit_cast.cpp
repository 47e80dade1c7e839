// Conversions between element types. bf16 is rounded to nearest even in integer arithmetic on every
// target (the AVX512-BF16 instruction flushes denormals); f16 goes through f32.
#include <llvm/IR/Intrinsics.h>

#include "tapeless/codegen/emit_expr.h"

namespace tapeless::codegen {

using llvm::Value;
using loop::Elem;
using loop::ExprNode;
using loop::Type;

// f32 of a bf16 or f16; f32 and f64 as they are.
Value* ExprEmitter::to_float(Value* v, Type from) {
  llvm::Type* f32 = value_type(from.with_elem(Elem::kF32));
  if (from.elem == Elem::kBF16) {
    Value* wide = b_.CreateZExt(v, value_type(from.with_elem(Elem::kU32)));
    return b_.CreateBitCast(b_.CreateShl(wide, 16), f32);
  }
  if (from.elem != Elem::kF16) return v;
  llvm::Type* half = b_.getHalfTy();
  if (from.lanes > 1) half = llvm::FixedVectorType::get(half, static_cast<unsigned>(from.lanes));
  return b_.CreateFPExt(b_.CreateBitCast(v, half), f32);
}

// An f32 or f64 as any float type.
Value* ExprEmitter::from_float(Value* v, Type from, Type to) {
  if (from.elem == to.elem) return v;
  if (to.elem == Elem::kF64) return b_.CreateFPExt(v, value_type(to));
  llvm::Type* f32 = value_type(to.with_elem(Elem::kF32));
  if (from.elem == Elem::kF64) v = b_.CreateFPTrunc(v, f32);
  if (to.elem == Elem::kF32) return v;
  if (to.elem == Elem::kF16) {
    llvm::Type* half = b_.getHalfTy();
    if (to.lanes > 1) half = llvm::FixedVectorType::get(half, static_cast<unsigned>(to.lanes));
    return b_.CreateBitCast(b_.CreateFPTrunc(v, half), value_type(to));
  }
  llvm::Type* u32 = value_type(to.with_elem(Elem::kU32));
  Value* bits = b_.CreateBitCast(v, u32);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), llvm::ConstantInt::get(u32, 1));
  Value* rounded = b_.CreateAdd(bits, b_.CreateAdd(odd, llvm::ConstantInt::get(u32, 0x7fff)));
  Value* quiet = b_.CreateOr(bits, llvm::ConstantInt::get(u32, 0x400000));
  Value* chosen = b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, rounded);
  return b_.CreateTrunc(b_.CreateLShr(chosen, 16), value_type(to));
}

Value* ExprEmitter::cast(const ExprNode& n) {
  const Type from = n.args[0]->type, to = n.type;
  Value* v = emit(n.args[0]);
  llvm::Type* type = value_type(to);
  if (is_float(from.elem)) {
    v = to_float(v, from);
    const Type wide = from.with_elem(from.elem == Elem::kF64 ? Elem::kF64 : Elem::kF32);
    if (is_float(to.elem)) return from_float(v, wide, to);
    if (to.elem == Elem::kBool) {
      return b_.CreateFCmpUNE(v, llvm::Constant::getNullValue(v->getType()));
    }
    const auto id = is_signed(to.elem) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {type, v->getType()}, {v});
  }
  const bool sign = is_signed(from.elem);
  if (is_float(to.elem)) {
    const Elem mid = to.elem == Elem::kF64 ? Elem::kF64 : Elem::kF32;
    llvm::Type* real = value_type(to.with_elem(mid));
    v = sign ? b_.CreateSIToFP(v, real) : b_.CreateUIToFP(v, real);
    return from_float(v, to.with_elem(mid), to);
  }
  if (to.elem == Elem::kBool) {
    return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  }
  return b_.CreateIntCast(v, type, sign);
}

}  // namespace tapeless::codegen
