// Kernels -> functions:
//   1. merge kernels of equal canonical text;
//   2. take the object code of those that the disk cache holds;
//   3. compile the others, on a few threads, and store them;
//   4. link all objects into this process.
#include "tapeless/codegen/compile.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <thread>

#include "tapeless/codegen/machine_code.h"
#include "tapeless/codegen/source_hash.h"
#include "tapeless/loop/print.h"
#include "tapeless/loop/verify.h"
#include "tapeless/support/check.h"

namespace tapeless {
namespace {

// Everything that the object code depends on.
std::string cache_key(const std::string& canonical, const Target& target) {
  llvm::BLAKE3 hash;
  for (const std::string& part :
       {canonical, target.machine.name, target.cpu, target.features,
        std::to_string(target.machine.vector_bytes), std::string(codegen::kSourceHash)}) {
    hash.update(part);
    hash.update(llvm::ArrayRef<uint8_t>({0}));
  }
  return llvm::toHex(hash.final<16>(), /*LowerCase=*/true);
}

std::string symbol_of(const std::string& key) { return "tapeless_" + key; }

struct Unit {
  std::string key;
  const loop::Kernel* kernel;
  std::string object;
};

void compile_units(std::span<Unit* const> units, const Target& target, const ObjectCache* cache,
                   int threads) {
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> errors(static_cast<size_t>(threads));
  auto work = [&](size_t id) {
    try {
      codegen::MachineCode machine(target);
      for (size_t i = next++; i < units.size(); i = next++) {
        Unit& unit = *units[i];
        unit.object = machine.generate(*unit.kernel, symbol_of(unit.key), codegen::Output::kObject);
        if (cache) cache->store(unit.key, unit.object);
      }
    } catch (...) {
      errors[id] = std::current_exception();
      next = units.size();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (size_t id = 1; id < static_cast<size_t>(threads); ++id) helpers.emplace_back(work, id);
    work(0);
  }
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
}

}  // namespace

CompiledKernels compile_kernels(std::span<const loop::Kernel> kernels, const Target& target,
                                const ObjectCache* cache, int threads) {
  if (kernels.empty()) return {};  // a linker with no object has nothing to finish
  const auto start = std::chrono::steady_clock::now();
  std::map<std::string, size_t> unit_of;  // key -> index
  std::vector<Unit> units;
  std::vector<size_t> unit_of_kernel;
  for (const loop::Kernel& kernel : kernels) {
    const std::string key = cache_key(loop::canonical_text(kernel), target);
    const auto [it, inserted] = unit_of.try_emplace(key, units.size());
    if (inserted) units.push_back({key, &kernel, {}});
    unit_of_kernel.push_back(it->second);
  }
  std::vector<Unit*> missing;
  for (Unit& unit : units) {
    if (auto object = cache ? cache->find(unit.key) : std::nullopt) {
      unit.object = std::move(*object);
    } else {
      loop::verify(*unit.kernel);
      missing.push_back(&unit);
    }
  }
  if (!missing.empty()) {
    const int useful = std::clamp<int>(static_cast<int>(missing.size()) / 2, 1, threads);
    compile_units(missing, target, cache, useful);
    if (cache) cache->trim();
  }

  CompiledKernels result;
  auto loader = std::make_shared<codegen::Loader>();
  for (const Unit& unit : units) loader->add(unit.object);
  if (!units.empty()) loader->finalize();  // the linker cannot finish what it never began
  for (const size_t i : unit_of_kernel) {
    void* address = loader->address(symbol_of(units[i].key));
    TL_CHECK(address, "object of {} does not define it", units[i].kernel->name);
    result.functions_.push_back(reinterpret_cast<KernelFn>(address));
  }
  result.memory_ = std::move(loader);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  result.stats_ = {.kernels = static_cast<int>(kernels.size()),
                   .distinct = static_cast<int>(units.size()),
                   .compiled = static_cast<int>(missing.size()),
                   .cached = static_cast<int>(units.size() - missing.size()),
                   .seconds = taken.count()};
  return result;
}

std::string llvm_text(const loop::Kernel& kernel, const Target& target) {
  loop::verify(kernel);
  return codegen::MachineCode(target).generate(kernel, kernel.name, codegen::Output::kLlvm);
}

std::string asm_text(const loop::Kernel& kernel, const Target& target) {
  loop::verify(kernel);
  return codegen::MachineCode(target).generate(kernel, kernel.name, codegen::Output::kAssembly);
}

}  // namespace tapeless
