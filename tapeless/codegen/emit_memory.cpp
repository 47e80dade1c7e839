// Loads and stores. A contiguous vector is one (masked) access, others gather and scatter. Where
// the target has no masked instruction for the element, a masked access is a small loop over the
// lanes that are on: compilers' own expansion would be a branch a lane.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <numeric>

#include "tapeless/codegen/emit_expr.h"
#include "tapeless/support/check.h"

namespace tapeless::codegen {

using llvm::BasicBlock;
using llvm::Value;
using loop::Elem;
using loop::Expr;
using loop::ExprKind;
using loop::ExprNode;

namespace {

bool is_unit_ramp(const Expr& e) {
  return e->kind == ExprKind::kRamp && loop::as_int(e->args[1]).value_or(0) == 1;
}

bool is_all_true(Value* mask) {
  const auto* c = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  return c && c->isAllOnesValue();
}

llvm::Align align_of(Elem elem) { return llvm::Align(static_cast<uint64_t>(elem_bytes(elem))); }

}  // namespace

Value* ExprEmitter::to_memory(Value* value, Elem elem) {
  if (elem != Elem::kBool) return value;
  return b_.CreateZExt(value, value->getType()->getWithNewBitWidth(8));
}

Value* ExprEmitter::address(const loop::BufferDecl& buffer, Value* index) {
  return b_.CreateGEP(memory_type({buffer.elem}), bases_.at(&buffer), index);
}

Value* ExprEmitter::address(const loop::LocalDecl& local, Value* index) {
  return b_.CreateGEP(value_type(local.type), bases_.at(&local), index);
}

// Masked instructions: AVX-512 for every element where contiguous, for 4 and 8 bytes else; AVX2 has
// contiguous ones of 4 and 8 bytes.
bool ExprEmitter::has_masked(Elem elem, bool contiguous) const {
  if (machine_.vector_bytes == 64) return contiguous || elem_bytes(elem) >= 4;
  return machine_.vector_bytes == 32 && contiguous && elem_bytes(elem) >= 4;
}

Value* ExprEmitter::entry_slot(llvm::Type* type) {
  BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  auto* slot = at.CreateAlloca(type);
  slot->setAlignment(llvm::Align(64));
  return slot;
}

// AVX2 by its own instruction, register by register: what LLVM 19 makes of a partly constant mask
// there reads lanes that are off.
Value* ExprEmitter::masked_load(llvm::Type* type, Value* at, llvm::Align align, Value* mask) {
  auto* vector = llvm::cast<llvm::FixedVectorType>(type);
  const unsigned bits = vector->getScalarSizeInBits(), native = 256 / bits;
  const unsigned lanes = vector->getNumElements();
  if (machine_.vector_bytes != 32 || lanes % native != 0)
    return b_.CreateMaskedLoad(type, at, align, mask, llvm::Constant::getNullValue(type));
  const auto load = bits == 32 ? llvm::Intrinsic::x86_avx2_maskload_d_256
                               : llvm::Intrinsic::x86_avx2_maskload_q_256;
  auto* flags = llvm::FixedVectorType::get(b_.getIntNTy(bits), native);
  auto* piece = llvm::FixedVectorType::get(vector->getElementType(), native);
  std::vector<Value*> pieces;
  for (unsigned first = 0; first < lanes; first += native) {
    llvm::SmallVector<int, 8> picked(native);
    std::iota(picked.begin(), picked.end(), static_cast<int>(first));
    Value* from = b_.CreateGEP(vector->getElementType(), at, b_.getInt64(first));
    Value* on = b_.CreateSExt(b_.CreateShuffleVector(mask, picked), flags);
    pieces.push_back(b_.CreateBitCast(b_.CreateIntrinsic(load, {}, {from, on}), piece));
  }
  return llvm::concatenateVectors(b_, pieces);
}

template <class Fn>
void ExprEmitter::for_active_lanes(Value* mask, Fn fn) {
  const auto* type = llvm::cast<llvm::FixedVectorType>(mask->getType());
  const unsigned lanes = type->getNumElements();
  llvm::Type* bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), lanes);
  Value* flags = entry_slot(bytes);
  b_.CreateStore(b_.CreateZExt(mask, bytes), flags);
  llvm::Function* f = b_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return BasicBlock::Create(b_.getContext(), name, f); };
  BasicBlock *before = b_.GetInsertBlock(), *loop = block("lane"), *on = block("lane.on"),
             *next = block("lane.next"), *done = block("lane.done");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* lane = b_.CreatePHI(b_.getInt64Ty(), 2, "lane");
  lane->addIncoming(b_.getInt64(0), before);
  Value* flag = b_.CreateLoad(b_.getInt8Ty(), b_.CreateGEP(b_.getInt8Ty(), flags, lane));
  b_.CreateCondBr(b_.CreateICmpNE(flag, b_.getInt8(0)), on, next);
  b_.SetInsertPoint(on);
  fn(lane);
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
  Value* following = b_.CreateAdd(lane, b_.getInt64(1));
  lane->addIncoming(following, next);
  b_.CreateCondBr(b_.CreateICmpULT(following, b_.getInt64(lanes)), loop, done);
  b_.SetInsertPoint(done);
}

// Address of one lane of an access: base + lane, or an element of the vector of addresses.
Value* ExprEmitter::lane_address(const ExprEmitter::Place& place, Value* lane) {
  if (place.contiguous) return b_.CreateGEP(place.scalar, place.at, lane);
  return b_.CreateLoad(b_.getPtrTy(), b_.CreateGEP(b_.getPtrTy(), place.slot, lane));
}

ExprEmitter::Place ExprEmitter::place_of(const loop::BufferDecl& buffer, const Expr& index,
                                         bool in_memory) {
  Place place{.contiguous = is_unit_ramp(index), .scalar = memory_type({buffer.elem})};
  const Expr& position = place.contiguous ? index->args[0] : index;
  place.at = b_.CreateGEP(place.scalar, bases_.at(&buffer), emit(position));
  if (in_memory && !place.contiguous) {
    place.slot = entry_slot(place.at->getType());
    b_.CreateStore(place.at, place.slot);
  }
  return place;
}

Value* ExprEmitter::load(const ExprNode& n) {
  const Elem elem = n.type.elem;
  llvm::Type* type = memory_type(n.type);
  Value* mask = n.args.size() > 1 ? emit(n.args[1]) : nullptr;
  if (is_all_true(mask)) mask = nullptr;
  Value* value = nullptr;
  if (n.type.lanes == 1) {
    Value* at = address(*n.buffer, emit(n.args[0]));
    if (mask) {  // where it does not hold, a zero of our own is read
      Value* zero = entry_slot(type);
      b_.CreateStore(llvm::Constant::getNullValue(type), zero);
      at = b_.CreateSelect(mask, at, zero);
    }
    value = b_.CreateAlignedLoad(type, at, align_of(elem));
  } else {
    value = load_vector(*n.buffer, n.args[0], mask, type);
  }
  if (elem != Elem::kBool) return value;
  return b_.CreateICmpNE(value, llvm::Constant::getNullValue(type));
}

Value* ExprEmitter::load_vector(const loop::BufferDecl& buffer, const Expr& index, Value* mask,
                                llvm::Type* type) {
  const llvm::Align align = align_of(buffer.elem);
  const bool direct = !mask || has_masked(buffer.elem, is_unit_ramp(index));
  const Place place = place_of(buffer, index, !direct);
  Value* zero = llvm::Constant::getNullValue(type);
  if (direct && place.contiguous) {
    if (!mask) return b_.CreateAlignedLoad(type, place.at, align);
    return masked_load(type, place.at, align, mask);
  }
  if (direct) {
    if (!mask) mask = splat(b_.getTrue(), index->type.lanes);
    return b_.CreateMaskedGather(type, place.at, align, mask, zero);
  }
  Value* result = entry_slot(type);
  b_.CreateStore(zero, result);
  for_active_lanes(mask, [&](Value* lane) {
    Value* one = b_.CreateAlignedLoad(place.scalar, lane_address(place, lane), align);
    b_.CreateStore(one, b_.CreateGEP(place.scalar, result, lane));
  });
  return b_.CreateLoad(type, result);
}

void ExprEmitter::store(const loop::StmtNode& n) {
  const loop::BufferDecl& buffer = *n.buffer;
  const Expr& index = n.args[0];
  const llvm::Align align = align_of(buffer.elem);
  Value* value = to_memory(emit(n.args[1]), buffer.elem);
  Value* mask = n.args.size() > 2 ? emit(n.args[2]) : nullptr;
  if (is_all_true(mask)) mask = nullptr;
  if (index->type.lanes == 1) {
    Value* at = address(buffer, emit(index));
    if (mask) at = b_.CreateSelect(mask, at, entry_slot(value->getType()));
    b_.CreateAlignedStore(value, at, align);
    return;
  }
  const bool direct = !mask || has_masked(buffer.elem, is_unit_ramp(index));
  const Place place = place_of(buffer, index, !direct);
  if (direct && place.contiguous) {
    if (!mask) {
      b_.CreateAlignedStore(value, place.at, align);
    } else {
      b_.CreateMaskedStore(value, place.at, align, mask);
    }
  } else if (direct) {
    if (!mask) mask = splat(b_.getTrue(), index->type.lanes);
    b_.CreateMaskedScatter(value, place.at, align, mask);
  } else {
    Value* values = entry_slot(value->getType());
    b_.CreateStore(value, values);
    for_active_lanes(mask, [&](Value* lane) {
      Value* one = b_.CreateLoad(place.scalar, b_.CreateGEP(place.scalar, values, lane));
      b_.CreateAlignedStore(one, lane_address(place, lane), align);
    });
  }
}

}  // namespace tapeless::codegen
