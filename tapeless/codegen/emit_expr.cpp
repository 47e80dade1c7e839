// Loop expressions -> LLVM vector IR. No fast-math flag is ever set and nothing is contracted: what
// the expression says is what is computed.
#include "tapeless/codegen/emit_expr.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "tapeless/loop/vector_math.h"
#include "tapeless/support/check.h"

namespace tapeless::codegen {

using llvm::Value;
using loop::Elem;
using loop::Expr;
using loop::ExprKind;
using loop::ExprNode;
using loop::Prim;
using loop::Type;

namespace {

bool reads_memory(ExprKind kind) { return kind == ExprKind::kLoad || kind == ExprKind::kLoadLocal; }

llvm::Type* lanes_of(llvm::Type* scalar, int lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

}  // namespace

llvm::Type* ExprEmitter::value_type(Type t) {
  llvm::Type* scalar =
      t.elem == Elem::kF32   ? b_.getFloatTy()
      : t.elem == Elem::kF64 ? b_.getDoubleTy()
      : t.elem == Elem::kBool
          ? b_.getInt1Ty()
          : static_cast<llvm::Type*>(b_.getIntNTy(static_cast<unsigned>(8 * elem_bytes(t.elem))));
  return lanes_of(scalar, t.lanes);
}

llvm::Type* ExprEmitter::memory_type(Type t) {
  return t.elem == Elem::kBool ? lanes_of(b_.getInt8Ty(), t.lanes) : value_type(t);
}

Value* ExprEmitter::emit(const Expr& e) {
  if (e->kind == ExprKind::kVar) {
    const auto it = vars_.find(e.get());
    TL_CHECK(it != vars_.end(), "{} has no value", e->name);
    return it->second;
  }
  if (const auto it = values_.find(e.get()); it != values_.end()) return it->second.value;
  Value* value = compute(e);
  bool pure = !reads_memory(e->kind);
  for (const Expr& a : e->args) {
    const auto it = values_.find(a.get());
    pure &= it == values_.end() || it->second.pure;
  }
  values_[e.get()] = {value, pure};
  trail_.push_back(e.get());
  return value;
}

void ExprEmitter::end_statement() {
  size_t kept = statement_;
  for (size_t i = statement_; i < trail_.size(); ++i) {
    if (values_.at(trail_[i]).pure) {
      trail_[kept++] = trail_[i];
    } else {
      values_.erase(trail_[i]);
    }
  }
  trail_.resize(kept);
  statement_ = kept;
  quotients_.clear();
}

void ExprEmitter::close_scope(size_t mark) {
  for (size_t i = mark; i < trail_.size(); ++i) values_.erase(trail_[i]);
  trail_.resize(mark);
  statement_ = mark;
  quotients_.clear();
}

Value* ExprEmitter::compute(const Expr& e) {
  const ExprNode& n = *e;
  switch (n.kind) {
    case ExprKind::kConst:
      return constant(n);
    case ExprKind::kVar:
      break;
    case ExprKind::kPrim:
      return prim(e);
    case ExprKind::kCast:
      return cast(n);
    case ExprKind::kBitcast:
      return b_.CreateBitCast(emit(n.args[0]), value_type(n.type));
    case ExprKind::kLoad:
      return load(n);
    case ExprKind::kRamp: {
      Value* base = splat(emit(n.args[0]), n.type.lanes);
      llvm::SmallVector<llvm::Constant*> steps;
      llvm::Type* scalar = value_type(n.type.with_lanes(1));
      for (int i = 0; i < n.type.lanes; ++i) steps.push_back(llvm::ConstantInt::get(scalar, i));
      Value* offsets = llvm::ConstantVector::get(steps);
      return b_.CreateAdd(base, b_.CreateMul(offsets, splat(emit(n.args[1]), n.type.lanes)));
    }
    case ExprKind::kBroadcast:
      return splat(emit(n.args[0]), n.type.lanes);
    case ExprKind::kReduce:
      return reduce(n);
    case ExprKind::kLoadLocal:
      return b_.CreateLoad(value_type(n.type), address(*n.local, emit(n.args[0])));
  }
  TL_CHECK(false, "unbound variable {}", n.name);
  return nullptr;
}

Value* ExprEmitter::constant(const ExprNode& n) {
  llvm::Type* type = value_type(n.type);
  switch (n.type.elem) {
    case Elem::kF32:
      return llvm::ConstantFP::get(type, llvm::APFloat(static_cast<float>(n.float_value)));
    case Elem::kF64:
      return llvm::ConstantFP::get(type, llvm::APFloat(n.float_value));
    case Elem::kBF16:
    case Elem::kF16:
      return from_float(llvm::ConstantFP::get(b_.getFloatTy(), n.float_value), {Elem::kF32},
                        n.type);
    default:
      return llvm::ConstantInt::get(type, static_cast<uint64_t>(n.int_value), true);
  }
}

Value* ExprEmitter::prim(const Expr& e) {
  const ExprNode& n = *e;
  if (n.op >= Prim::kExp) return math(e);
  llvm::SmallVector<Value*, 3> a;
  for (const Expr& arg : n.args) a.push_back(emit(arg));
  if (n.op == Prim::kSelect) return b_.CreateSelect(a[0], a[1], a[2]);
  if (n.op == Prim::kIsNan) return b_.CreateFCmpUNO(a[0], a[0]);
  if (n.op >= Prim::kEq && n.op <= Prim::kGe) return compare(n, a[0], a[1]);
  const Elem elem = n.args[0]->type.elem;
  if (n.op == Prim::kMin || n.op == Prim::kMax) return min_max(n.op, elem, a[0], a[1]);
  return is_float(elem) ? float_prim(n, a) : integer_prim(n, a);
}

Value* ExprEmitter::compare(const ExprNode& n, Value* a, Value* b) {
  using P = llvm::CmpInst;
  const Elem elem = n.args[0]->type.elem;
  const int i = static_cast<int>(n.op) - static_cast<int>(Prim::kEq);
  static constexpr P::Predicate kFloat[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT,
                                            P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
  static constexpr P::Predicate kSigned[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT,
                                             P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  static constexpr P::Predicate kUnsigned[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_ULT,
                                               P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  return b_.CreateCmp(is_float(elem)    ? kFloat[i]
                      : is_signed(elem) ? kSigned[i]
                                        : kUnsigned[i],
                      a, b);
}

// max(a, b) = a is NaN ? a : (a > b ? a : b): NaN from either side; the second operand on a tie.
Value* ExprEmitter::min_max(Prim op, Elem elem, Value* a, Value* b) {
  if (!is_float(elem)) return combine(op, elem, a, b);
  Value* wins = op == Prim::kMax ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b);
  Value* picked = b_.CreateSelect(wins, a, b);
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, picked);
}

Value* ExprEmitter::float_prim(const ExprNode& n, llvm::ArrayRef<Value*> a) {
  using I = llvm::Intrinsic::IndependentIntrinsics;
  auto unary = [&](I id) { return b_.CreateUnaryIntrinsic(id, a[0]); };
  switch (n.op) {
    case Prim::kAdd:
      return b_.CreateFAdd(a[0], a[1]);
    case Prim::kSub:
      return b_.CreateFSub(a[0], a[1]);
    case Prim::kMul:
      return b_.CreateFMul(a[0], a[1]);
    case Prim::kDiv:
      return b_.CreateFDiv(a[0], a[1]);
    case Prim::kNeg:
      return b_.CreateFNeg(a[0]);
    case Prim::kAbs:
      return unary(I::fabs);
    case Prim::kSqrt:
      return unary(I::sqrt);
    case Prim::kFloor:
      return unary(I::floor);
    case Prim::kCeil:
      return unary(I::ceil);
    case Prim::kTrunc:
      return unary(I::trunc);
    case Prim::kRoundEven:
      return unary(I::roundeven);
    case Prim::kFma:
      return b_.CreateIntrinsic(I::fma, {a[0]->getType()}, {a[0], a[1], a[2]});
    default:
      TL_CHECK(false, "{} of floats", prim_name(n.op));
  }
  return nullptr;
}

Value* ExprEmitter::integer_prim(const ExprNode& n, llvm::ArrayRef<Value*> a) {
  const Elem elem = n.type.elem;
  switch (n.op) {
    case Prim::kSub:
      return b_.CreateSub(a[0], a[1]);
    case Prim::kFloorDiv:
    case Prim::kFloorMod:
      return divide(n, a[0], a[1]);
    case Prim::kNeg:
      return b_.CreateNeg(a[0]);
    case Prim::kAbs:
      if (!is_signed(elem)) return a[0];
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a[0], b_.getFalse());
    case Prim::kNot:
      return b_.CreateNot(a[0]);
    case Prim::kShl:
      return b_.CreateShl(a[0], a[1]);
    case Prim::kShr:
      return is_signed(elem) ? b_.CreateAShr(a[0], a[1]) : b_.CreateLShr(a[0], a[1]);
    case Prim::kMulHi: {
      const auto bits = static_cast<unsigned>(8 * elem_bytes(elem));
      llvm::Type* narrow = a[0]->getType();
      llvm::Type* wide = narrow->getWithNewBitWidth(2 * bits);
      Value* product = b_.CreateMul(b_.CreateZExt(a[0], wide), b_.CreateZExt(a[1], wide));
      return b_.CreateTrunc(b_.CreateLShr(product, bits), narrow);
    }
    default:
      return combine(n.op, elem, a[0], a[1]);
  }
}

// The associative operations, which reductions use too.
Value* ExprEmitter::combine(Prim op, Elem elem, Value* a, Value* b) {
  using I = llvm::Intrinsic::IndependentIntrinsics;
  const bool real = is_float(elem), sign = is_signed(elem);
  switch (op) {
    case Prim::kAdd:
      return real ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case Prim::kMul:
      return real ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case Prim::kAnd:
      return b_.CreateAnd(a, b);
    case Prim::kOr:
      return b_.CreateOr(a, b);
    case Prim::kXor:
      return b_.CreateXor(a, b);
    case Prim::kMin:
      if (real) return min_max(op, elem, a, b);
      return b_.CreateBinaryIntrinsic(sign ? I::smin : I::umin, a, b);
    case Prim::kMax:
      if (real) return min_max(op, elem, a, b);
      return b_.CreateBinaryIntrinsic(sign ? I::smax : I::umax, a, b);
    default:
      TL_CHECK(false, "{} of {}", prim_name(op), elem_name(elem));
  }
  return nullptr;
}

Value* ExprEmitter::math(const Expr& e) {
  const Expr expansion = loop::expand_math(e, machine_.fma);
  if (!expansion) return library_call(*e);
  expansions_.push_back(expansion);
  return emit(expansion);
}

// One call of the C library a lane.
Value* ExprEmitter::library_call(const ExprNode& n) {
  const bool narrow = n.type.elem == Elem::kF32;
  llvm::Type* scalar = value_type(n.type.with_lanes(1));
  llvm::SmallVector<llvm::Type*, 2> types(n.args.size(), scalar);
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  const std::string name = std::string(prim_name(n.op)) + (narrow ? "f" : "");
  auto callee = module->getOrInsertFunction(name, llvm::FunctionType::get(scalar, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  llvm::SmallVector<Value*, 2> args;
  for (const Expr& a : n.args) args.push_back(emit(a));
  if (n.type.lanes == 1) return b_.CreateCall(callee, args);
  Value* result = llvm::PoisonValue::get(value_type(n.type));
  for (int i = 0; i < n.type.lanes; ++i) {
    llvm::SmallVector<Value*, 2> lane;
    for (Value* a : args) lane.push_back(b_.CreateExtractElement(a, static_cast<uint64_t>(i)));
    result = b_.CreateInsertElement(result, b_.CreateCall(callee, lane), static_cast<uint64_t>(i));
  }
  return result;
}

Value* ExprEmitter::reduce(const ExprNode& n) {
  Value* v = emit(n.args[0]);
  for (int half = n.args[0]->type.lanes / 2; half >= 1; half /= 2) {
    llvm::SmallVector<int> low, high;
    for (int i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(half + i);
    }
    Value* a = b_.CreateShuffleVector(v, low);
    Value* b = b_.CreateShuffleVector(v, high);
    v = combine(n.op, n.type.elem, a, b);
  }
  return b_.CreateExtractElement(v, uint64_t{0});
}

}  // namespace tapeless::codegen
