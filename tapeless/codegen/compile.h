#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tapeless/codegen/object_cache.h"
#include "tapeless/codegen/target.h"
#include "tapeless/loop/loop.h"
#include "tapeless/runtime/abi.h"

namespace tapeless {

struct CompileStats {
  int kernels = 0;   // asked for
  int distinct = 0;  // after equal ones were merged
  int compiled = 0;  // by LLVM, now
  int cached = 0;    // from disk
  double seconds = 0;
};

/// Machine code of some kernels, in the order they were given; owns the memory it lies in.
class CompiledKernels {
 public:
  KernelFn function(size_t i) const { return functions_.at(i); }
  size_t size() const { return functions_.size(); }
  const CompileStats& stats() const { return stats_; }

 private:
  friend CompiledKernels compile_kernels(std::span<const loop::Kernel>, const Target&,
                                         const ObjectCache*, int);
  std::shared_ptr<void> memory_;
  std::vector<KernelFn> functions_;
  CompileStats stats_;
};

/// Verifies and compiles. Kernels that do the same (loop::canonical_text) are compiled once; what
/// the cache holds is not compiled at all. `cache` may be null.
CompiledKernels compile_kernels(std::span<const loop::Kernel> kernels, const Target& target,
                                const ObjectCache* cache, int threads = 2);

/// What `explain` shows: LLVM IR after our passes, and assembly.
std::string llvm_text(const loop::Kernel& kernel, const Target& target);
std::string asm_text(const loop::Kernel& kernel, const Target& target);

}  // namespace tapeless
