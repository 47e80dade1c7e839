// LLVM IR -> ELF object. The emitter already writes the final vector code, so that a few cheap
// scalar passes suffice: locals become registers (SROA), invariant addresses leave loops (LICM).
#include "tapeless/codegen/machine_code.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <mutex>

#include "tapeless/codegen/emit.h"
#include "tapeless/loop/print.h"
#include "tapeless/support/check.h"

namespace tapeless::codegen {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  const auto* description = llvm::TargetRegistry::lookupTarget(kTriple, error);
  TL_CHECK(description, "{}", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.TrapUnreachable = true;
  return std::unique_ptr<llvm::TargetMachine>(description->createTargetMachine(
      kTriple, target.cpu, target.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default));
}

}  // namespace

struct MachineCode::Impl {
  explicit Impl(const Target& t) : target(t), machine(make_machine(t)) {}
  const Target target;
  std::unique_ptr<llvm::TargetMachine> machine;
};

MachineCode::MachineCode(const Target& target) : impl_(std::make_unique<Impl>(target)) {}
MachineCode::~MachineCode() = default;

std::string MachineCode::generate(const loop::Kernel& kernel, const std::string& symbol,
                                  Output output) {
  llvm::LLVMContext context;
  llvm::Module module(symbol, context);
  module.setTargetTriple(kTriple);
  module.setDataLayout(impl_->machine->createDataLayout());
  emit_kernel(module, kernel, symbol, impl_->target);
  std::string problem;
  llvm::raw_string_ostream problem_stream(problem);
  TL_CHECK(!llvm::verifyModule(module, &problem_stream), "{}\nin\n{}", problem,
           loop::print(kernel));

  llvm::legacy::PassManager passes;
  passes.add(llvm::createTargetTransformInfoWrapperPass(impl_->machine->getTargetIRAnalysis()));
  passes.add(llvm::createSROAPass());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createLICMPass());
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (output != Output::kLlvm) {
    const auto type = output == Output::kObject ? llvm::CodeGenFileType::ObjectFile
                                                : llvm::CodeGenFileType::AssemblyFile;
    TL_CHECK(!impl_->machine->addPassesToEmitFile(passes, stream, nullptr, type),
             "no code generator for this output");
  }
  passes.run(module);
  if (output == Output::kLlvm) module.print(stream, nullptr);
  return std::string(bytes);
}

}  // namespace tapeless::codegen
