// Objects -> executable memory of this process. Needs no target machine, so that a start from a
// full cache initialises nothing of the code generator.
#include <dlfcn.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/ExecutionEngine/SectionMemoryManager.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include "tapeless/codegen/machine_code.h"
#include "tapeless/support/check.h"

extern "C" {
float __extendhfsf2(_Float16);
_Float16 __truncsfhf2(float);
}

namespace tapeless::codegen {
namespace {

// External functions of kernels: the C library's, and the two half-precision helpers of the
// compiler's own library, which the dynamic linker does not see.
class Memory : public llvm::SectionMemoryManager {
 public:
  uint64_t getSymbolAddress(const std::string& name) override {
    void* address = dlsym(RTLD_DEFAULT, name.c_str());
    if (name == "__extendhfsf2") address = reinterpret_cast<void*>(&__extendhfsf2);
    if (name == "__truncsfhf2") address = reinterpret_cast<void*>(&__truncsfhf2);
    return reinterpret_cast<uint64_t>(address);
  }
};

}  // namespace

struct Loader::Impl {
  Memory memory;
  llvm::RuntimeDyld linker{memory, memory};
};

Loader::Loader() : impl_(std::make_unique<Impl>()) {}
Loader::~Loader() = default;

void Loader::add(std::string_view object) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "kernel");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  TL_CHECK(static_cast<bool>(file), "unreadable object: {}", llvm::toString(file.takeError()));
  impl_->linker.loadObject(**file);
}

void Loader::finalize() {
  impl_->linker.finalizeWithMemoryManagerLocking();
  TL_CHECK(!impl_->linker.hasError(), "linking kernels: {}", impl_->linker.getErrorString().str());
}

void* Loader::address(const std::string& symbol) const {
  return reinterpret_cast<void*>(impl_->linker.getSymbol(symbol).getAddress());
}

}  // namespace tapeless::codegen
