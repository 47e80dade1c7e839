#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tapeless/codegen/compile.h"
#include "tapeless/compiler/checks.h"
#include "tapeless/compiler/executable.h"
#include "tapeless/loop/loop.h"
#include "tapeless/runtime/external.h"
#include "tapeless/runtime/threads.h"

namespace tapeless {

/// Memory that values of an entry point lie in.
struct Storage {
  enum class Place : uint8_t { kParam, kConstant, kArena };
  Place place = Place::kArena;
  int index = 0;    // of the parameter
  Tensor constant;  // kConstant
  Dim bytes;        // kArena
  int first = 0;    // kArena: steps that need it, both included
  int last = 0;
  std::string name;  // of the first value that lies there, for explain
};

/// A kernel launch or a call of C code.
struct Step {
  int kernel = -1;                   // into Program::kernels; -1: external
  std::vector<int> storages;         // kernel: one a buffer. External: inputs, then outputs
  std::vector<std::string> symbols;  // kernel: names of its sizes
  ExternalFn external = nullptr;
  int external_inputs = 0;
  std::vector<Type> external_types;  // inputs, then outputs
  std::string name;
  std::string region;  // kernel: the function of Program::fused that it is of
  std::string how;     // kernel: its kind and how it was cut, for explain
  Loc loc;
};

/// A result: where it lies, and what has to happen at the end.
struct ResultPlace {
  int storage = 0;
  int copy_from = -1;      // a parameter whose old value is kept here before updates are copied
  int copy_to_param = -1;  // an update that could not be made in place is copied at the end
};

struct EntryPoint {
  std::string name;
  std::vector<Slot> params, results;
  std::map<std::string, int64_t> bounds;
  std::vector<Storage> storages;
  std::vector<Step> steps;
  std::vector<ResultPlace> places;
  EntryChecks checks;
};

struct Executable::Program {
  CompileOptions options;
  CompileReport report;
  Module fused;                       // for explain: the regions, as IR
  std::vector<loop::Kernel> kernels;  // one a step; equal ones share code
  CompiledKernels code;
  std::vector<EntryPoint> entries;  // those asked for, then those that compute checks
  size_t public_entries = 0;
  std::unique_ptr<ThreadPool> threads;

  const EntryPoint& entry(std::string_view name) const;
};

/// Schedules a fused function: steps in order, storage of every value, in-place results. Appends
/// its kernels to the program's.
EntryPoint schedule(const Module& fused, const Function& f, const loop::Machine& machine,
                    std::vector<loop::Kernel>& kernels);

}  // namespace tapeless
