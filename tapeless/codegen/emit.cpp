// Loop statements -> LLVM IR. One function a kernel: the task loop around the body; loops are
// emitted in rotated form (test, then do-while), unrolled ones as copies of their body.
#include "tapeless/codegen/emit.h"

#include <llvm/IR/IRBuilder.h>

#include "tapeless/codegen/emit_expr.h"
#include "tapeless/support/check.h"

namespace tapeless::codegen {

using llvm::BasicBlock;
using llvm::Value;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtNode;

namespace {

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const Target& target)
      : module_(module), target_(target), b_(module.getContext()), exprs_(b_, target.machine) {}

  void run(const loop::Kernel& kernel, const std::string& symbol);

 private:
  llvm::Function* declare(const std::string& symbol);
  void bind_arguments(const loop::Kernel& kernel, llvm::Function* f);
  void stmt(const Stmt& s);
  void for_loop(const StmtNode& n);
  void unrolled(const StmtNode& n);
  void if_then(const StmtNode& n);
  void local(const StmtNode& n);
  // begin..end by step around `body(i)`; the scope of cached values is closed after it.
  template <class Fn>
  void counted(Value* begin, Value* end, Value* step, const std::string& name, Fn body);
  BasicBlock* new_block(const std::string& name) {
    return BasicBlock::Create(b_.getContext(), name, b_.GetInsertBlock()->getParent());
  }

  llvm::Module& module_;
  const Target& target_;
  llvm::IRBuilder<> b_;
  ExprEmitter exprs_;
};

llvm::Function* KernelEmitter::declare(const std::string& symbol) {
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, i64, i64}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
  const std::string bits = std::to_string(8 * target_.machine.vector_bytes);
  f->addFnAttr("target-cpu", target_.cpu);
  if (!target_.features.empty()) f->addFnAttr("target-features", target_.features);
  f->addFnAttr("prefer-vector-width", bits);
  f->addFnAttr("min-legal-vector-width", bits);
  f->setDoesNotThrow();
  const char* names[] = {"buffers", "sizes", "scratch", "task_begin", "task_end"};
  for (unsigned i = 0; i < 5; ++i) f->getArg(i)->setName(names[i]);
  for (unsigned i = 0; i < 3; ++i) f->addParamAttr(i, llvm::Attribute::NoCapture);
  return f;
}

void KernelEmitter::bind_arguments(const loop::Kernel& kernel, llvm::Function* f) {
  llvm::MDNode* invariant = llvm::MDNode::get(b_.getContext(), {});
  auto argument = [&](unsigned table, llvm::Type* type, size_t i, const std::string& name) {
    Value* at = b_.CreateConstGEP1_64(type, f->getArg(table), i);
    auto* value = b_.CreateLoad(type, at, name);
    value->setMetadata(llvm::LLVMContext::MD_invariant_load, invariant);
    return value;
  };
  for (size_t i = 0; i < kernel.sizes.size(); ++i) {
    exprs_.bind(kernel.sizes[i], argument(1, b_.getInt64Ty(), i, kernel.sizes[i]->name));
  }
  size_t passed = 0;
  for (const loop::Buffer& buffer : kernel.buffers) {
    if (buffer->access == loop::Access::kScratch) {
      Value* offset = exprs_.emit(buffer->offset);
      exprs_.bind(buffer, b_.CreateGEP(b_.getInt8Ty(), f->getArg(2), offset, buffer->name));
    } else {
      exprs_.bind(buffer, argument(0, b_.getPtrTy(), passed++, buffer->name));
    }
  }
}

void KernelEmitter::run(const loop::Kernel& kernel, const std::string& symbol) {
  llvm::Function* f = declare(symbol);
  b_.SetInsertPoint(BasicBlock::Create(b_.getContext(), "entry", f));
  bind_arguments(kernel, f);
  exprs_.end_statement();
  counted(f->getArg(3), f->getArg(4), b_.getInt64(1), "task", [&](Value* task) {
    if (kernel.task) exprs_.bind(kernel.task, task);
    stmt(kernel.body);
  });
  b_.CreateRetVoid();
}

template <class Fn>
void KernelEmitter::counted(Value* begin, Value* end, Value* step, const std::string& name, Fn fn) {
  BasicBlock* body = new_block(name);
  BasicBlock* done = new_block(name + ".done");
  BasicBlock* before = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), body, done);
  b_.SetInsertPoint(body);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, name);
  i->addIncoming(begin, before);
  const size_t scope = exprs_.open_scope();
  fn(i);
  exprs_.close_scope(scope);
  Value* next = b_.CreateAdd(i, step, "", /*HasNUW=*/false, /*HasNSW=*/true);
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, done);
  b_.SetInsertPoint(done);
}

void KernelEmitter::stmt(const Stmt& s) {
  const StmtNode& n = *s;
  switch (n.kind) {
    case StmtKind::kBlock:
      for (const Stmt& child : n.body) stmt(child);
      return;
    case StmtKind::kFor:
      return n.for_kind == loop::ForKind::kUnrolled ? unrolled(n) : for_loop(n);
    case StmtKind::kIf:
      return if_then(n);
    case StmtKind::kLet:
      exprs_.bind(n.var, exprs_.emit(n.args[0]));
      exprs_.end_statement();
      return stmt(n.body[0]);
    case StmtKind::kStore:
      exprs_.store(n);
      return exprs_.end_statement();
    case StmtKind::kLocal:
      return local(n);
    case StmtKind::kStoreLocal: {
      Value* value = exprs_.emit(n.args[1]);
      b_.CreateStore(value, exprs_.address(*n.local, exprs_.emit(n.args[0])));
      return exprs_.end_statement();
    }
    case StmtKind::kPrefetch:
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {exprs_.address(*n.buffer, exprs_.emit(n.args[0])), b_.getInt32(0),
                          b_.getInt32(3), b_.getInt32(1)});
      return exprs_.end_statement();
  }
}

void KernelEmitter::for_loop(const StmtNode& n) {
  Value* begin = exprs_.emit(n.args[0]);
  Value* end = exprs_.emit(n.args[1]);
  Value* step = exprs_.emit(n.args[2]);
  exprs_.end_statement();
  counted(begin, end, step, n.var->name, [&](Value* i) {
    exprs_.bind(n.var, i);
    stmt(n.body[0]);
  });
}

void KernelEmitter::unrolled(const StmtNode& n) {
  const int64_t begin = *loop::as_int(n.args[0]), end = *loop::as_int(n.args[1]);
  const int64_t step = *loop::as_int(n.args[2]);
  for (int64_t i = begin; i < end; i += step) {
    const size_t scope = exprs_.open_scope();
    exprs_.bind(n.var, b_.getInt64(static_cast<uint64_t>(i)));
    stmt(n.body[0]);
    exprs_.close_scope(scope);
  }
}

void KernelEmitter::if_then(const StmtNode& n) {
  Value* condition = exprs_.emit(n.args[0]);
  exprs_.end_statement();
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    const size_t taken = known->isOne() ? 0 : 1;
    if (taken < n.body.size()) stmt(n.body[taken]);
    return;
  }
  BasicBlock* then_block = new_block("then");
  BasicBlock* else_block = n.body.size() > 1 ? new_block("else") : nullptr;
  BasicBlock* done = new_block("endif");
  b_.CreateCondBr(condition, then_block, else_block ? else_block : done);
  auto arm = [&](BasicBlock* at, const Stmt& body) {
    b_.SetInsertPoint(at);
    const size_t scope = exprs_.open_scope();
    stmt(body);
    exprs_.close_scope(scope);
    b_.CreateBr(done);
  };
  arm(then_block, n.body[0]);
  if (else_block) arm(else_block, n.body[1]);
  b_.SetInsertPoint(done);
}

void KernelEmitter::local(const StmtNode& n) {
  BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  llvm::Type* element = exprs_.value_type(n.local->type);
  auto* array = llvm::ArrayType::get(element, static_cast<uint64_t>(n.local->count));
  auto* slot = at.CreateAlloca(array, nullptr, n.local->name);
  slot->setAlignment(llvm::Align(64));
  exprs_.bind(n.local, slot);
  stmt(n.body[0]);
}

}  // namespace

void emit_kernel(llvm::Module& module, const loop::Kernel& kernel, const std::string& symbol,
                 const Target& target) {
  KernelEmitter(module, target).run(kernel, symbol);
}

}  // namespace tapeless::codegen
