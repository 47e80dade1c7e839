#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tapeless/compiler/pass_record.h"
#include "tapeless/ir/module.h"
#include "tapeless/tensor/tensor.h"

namespace tapeless {

struct CompileOptions {
  /// native, avx512, avx2 or x86-64.
  std::string cpu = "native";
  /// Threads that a call uses, 1 or more.
  int threads = 1;
  /// Object code is kept in and taken from the disk cache.
  bool disk_cache = true;
  /// Off: one kernel an op, for tests that compare.
  bool fuse = true;
  /// Functions to make entry points of; empty: every function that no other one calls.
  std::vector<std::string> entries;
  /// Keep the module's text after each pass in the report, for explain.
  bool keep_text = false;
};

struct CompileReport {
  double seconds = 0;
  std::vector<PassRecord> passes;
  int kernels = 0;           // distinct kernels of the program
  int kernels_compiled = 0;  // of these, how many code was generated for
  int kernels_cached = 0;    // and how many came from the disk cache
};

/// One parameter or result of an entry point.
struct Slot {
  std::string name;  // results: "%w" is the new value of parameter w
  Type type;
  Role role = Role::kInput;  // parameters
  int updates = -1;          // results: index of the parameter updated in place; -1: none
};

class Executable;

/// A workspace for calls of one entry point: bindings, the arena, the results. One thread uses a
/// Call at a time; any number of Calls of one Executable may run at once.
class Call {
 public:
  Call(std::shared_ptr<const Executable> executable, std::string_view entry);
  ~Call();
  Call(Call&&) noexcept;
  Call& operator=(Call&&) noexcept;

  /// Gives parameter `i` its tensor (kept until bound again). Parameters that are updated in place
  /// must be dense. A DataError where dtype or rank do not fit; sizes are checked by run.
  void bind(int i, Tensor tensor);
  void bind(std::string_view name, Tensor tensor);
  /// Binds symbols from the shapes bound, checks them, plans anew where sizes grew, and runs.
  /// A DataError leaves every parameter as it was.
  void run();
  /// The same, and how long each step of the program took, in their order.
  struct StepTime {
    std::string name;
    double seconds = 0;
    int64_t tasks = 0;
  };
  std::vector<StepTime> run_timed();
  /// Result `i` of the last run. It lies in this Call's workspace and is overwritten by the next
  /// run; for an updated parameter it is the parameter's tensor.
  Tensor result(int i) const;
  Tensor result(std::string_view name) const;

  /// Bytes of the arena as planned for the sizes met so far.
  int64_t arena_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Compiled entry points. Immutable; shared by all Calls.
class Executable : public std::enable_shared_from_this<Executable> {
 public:
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  std::vector<std::string> entries() const;
  bool has(std::string_view entry) const;
  const std::vector<Slot>& params(std::string_view entry) const;
  const std::vector<Slot>& results(std::string_view entry) const;
  const CompileReport& report() const;

  Call call(std::string_view entry) const { return Call(shared_from_this(), entry); }
  /// For tests and tools: binds all, runs, gives copies of the results.
  std::vector<Tensor> run(std::string_view entry, const std::vector<Tensor>& args) const;

  /// Implementation (compiler/program.h).
  struct Program;
  explicit Executable(std::unique_ptr<Program> program);
  const Program& program() const { return *program_; }

 private:
  std::unique_ptr<Program> program_;
};

/// Compiles a module at any stage from specialized on: inlines, simplifies, fuses, plans, lowers
/// and generates code. CompileErrors carry the locations of the ops at fault.
std::shared_ptr<const Executable> compile(const Module& module, const CompileOptions& options);

}  // namespace tapeless
