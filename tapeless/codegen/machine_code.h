#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tapeless/codegen/target.h"
#include "tapeless/loop/loop.h"

namespace tapeless::codegen {

enum class Output { kObject, kAssembly, kLlvm };

/// LLVM with one machine description, for use by one thread.
class MachineCode {
 public:
  explicit MachineCode(const Target& target);
  ~MachineCode();
  /// The kernel as an ELF object (or text) that defines the function `symbol`.
  std::string generate(const loop::Kernel& kernel, const std::string& symbol, Output output);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Links objects into executable memory of this process. Null addresses for unknown symbols.
class Loader {
 public:
  Loader();
  ~Loader();
  void add(std::string_view object);
  void finalize();
  void* address(const std::string& symbol) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapeless::codegen
