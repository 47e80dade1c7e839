// Integer division towards minus infinity. A divisor of zero gives zero, and nothing traps.
//
// Vectors of i64 have no division instruction. With AVX-512 a divisor that is the same in all lanes
// divides in f64: two steps of quotient and remainder, then a correction by one, exact for every
// dividend and divisors in [1, 2^52). Index arithmetic that was not split into loops lives of it.
#include <llvm/IR/Intrinsics.h>

#include "tapeless/codegen/emit_expr.h"

namespace tapeless::codegen {

using llvm::BasicBlock;
using llvm::Value;
using loop::Elem;
using loop::Expr;
using loop::ExprKind;
using loop::ExprNode;
using loop::Prim;

namespace {

constexpr int64_t kFloatLimit = int64_t{1} << 52;

}  // namespace

Value* ExprEmitter::divide(const ExprNode& n, Value* a, Value* b) {
  const bool quotient = n.op == Prim::kFloorDiv;
  const auto known = loop::as_int(n.args[1]);
  llvm::Type* type = a->getType();
  if (known && *known > 0 && (*known & (*known - 1)) == 0) {
    const auto shift = static_cast<uint64_t>(__builtin_ctzll(static_cast<uint64_t>(*known)));
    if (!quotient) return b_.CreateAnd(a, llvm::ConstantInt::get(type, *known - 1));
    return is_signed(n.type.elem) ? b_.CreateAShr(a, shift) : b_.CreateLShr(a, shift);
  }
  Value*& q = quotients_[{n.args[0].get(), n.args[1].get()}];
  if (!q) q = quotient_of(n, a, b);
  if (quotient) return q;
  Value* rest = b_.CreateSub(a, b_.CreateMul(q, b));
  if (known && *known > 0) return rest;
  Value* zero = llvm::Constant::getNullValue(type);
  return b_.CreateSelect(b_.CreateICmpEQ(b, zero), zero, rest);
}

Value* ExprEmitter::quotient_of(const ExprNode& n, Value* a, Value* b) {
  const auto known = loop::as_int(n.args[1]);
  const Expr& divisor = n.args[1];
  const bool floats = machine_.vector_bytes == 64 && n.type.elem == Elem::kI64 &&
                      n.type.lanes > 1 && divisor->kind == ExprKind::kBroadcast;
  if (!floats || (known && (*known < 1 || *known >= kFloatLimit))) {
    return quotient_by_division(n, a, b);
  }
  Value* c = emit(divisor->args[0]);
  if (known) return quotient_by_floats(a, c, n.type.lanes);
  llvm::Function* f = b_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return BasicBlock::Create(b_.getContext(), name, f); };
  BasicBlock *fast = block("div.fast"), *slow = block("div.slow"), *done = block("div.done");
  Value* shifted = b_.CreateSub(c, b_.getInt64(1));
  b_.CreateCondBr(b_.CreateICmpULT(shifted, b_.getInt64(kFloatLimit - 1)), fast, slow);
  b_.SetInsertPoint(fast);
  Value* by_floats = quotient_by_floats(a, c, n.type.lanes);
  b_.CreateBr(done);
  b_.SetInsertPoint(slow);
  Value* by_division = quotient_by_division(n, a, b);
  b_.CreateBr(done);
  slow = b_.GetInsertBlock();
  b_.SetInsertPoint(done);
  llvm::PHINode* q = b_.CreatePHI(a->getType(), 2);
  q->addIncoming(by_floats, fast);
  q->addIncoming(by_division, slow);
  return q;
}

Value* ExprEmitter::quotient_by_floats(Value* a, Value* c, int lanes) {
  llvm::Type* type = a->getType();
  llvm::Type* f64 = value_type({Elem::kF64, lanes});
  auto real = [&](double v) { return llvm::ConstantFP::get(f64, v); };
  Value* inverse = splat(b_.CreateFDiv(llvm::ConstantFP::get(b_.getDoubleTy(), 1.0),
                                       b_.CreateSIToFP(c, b_.getDoubleTy())),
                         lanes);
  Value* cs = splat(c, lanes);
  // Within one of floor(x / c) for |x| < 2^52, within 2^12 for every x.
  auto estimate = [&](Value* x) {
    Value* t = b_.CreateFMul(b_.CreateSIToFP(x, f64), inverse);
    t = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, t);
    t = b_.CreateSelect(b_.CreateFCmpOGT(t, real(0x1.fffffffffffffp62)), real(0x1.fffffffffffffp62),
                        t);
    return b_.CreateFPToSI(t, type);
  };
  Value* q = estimate(a);
  Value* r = b_.CreateSub(a, b_.CreateMul(q, cs));
  Value* more = estimate(r);
  q = b_.CreateAdd(q, more);
  r = b_.CreateSub(r, b_.CreateMul(more, cs));
  Value* low = b_.CreateICmpSLT(r, llvm::Constant::getNullValue(type));
  Value* high = b_.CreateICmpSGE(r, cs);
  q = b_.CreateAdd(q, b_.CreateSExt(low, type));
  return b_.CreateSub(q, b_.CreateSExt(high, type));
}

Value* ExprEmitter::quotient_by_division(const ExprNode& n, Value* a, Value* b) {
  llvm::Type* type = a->getType();
  Value* zero = llvm::Constant::getNullValue(type);
  Value* one = llvm::ConstantInt::get(type, 1);
  const auto known = loop::as_int(n.args[1]);
  const bool safe = known && *known > 0;
  Value* by_zero = safe ? nullptr : b_.CreateICmpEQ(b, zero);
  Value* divisor = safe ? b : b_.CreateSelect(by_zero, one, b);
  if (!is_signed(n.type.elem)) {
    Value* q = b_.CreateUDiv(a, divisor);
    return safe ? q : b_.CreateSelect(by_zero, zero, q);
  }
  // By -1 is divided as by 1 and negated: the smallest integer / -1 would trap.
  Value* by_minus = safe ? nullptr : b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(type));
  if (!safe) divisor = b_.CreateSelect(by_minus, one, divisor);
  Value* q = b_.CreateSDiv(a, divisor);
  Value* r = b_.CreateSub(a, b_.CreateMul(q, divisor));
  Value* down =
      b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, divisor), zero));
  q = b_.CreateSub(q, b_.CreateZExt(down, type));
  if (safe) return q;
  return b_.CreateSelect(by_zero, zero, b_.CreateSelect(by_minus, b_.CreateNeg(a), q));
}

}  // namespace tapeless::codegen
