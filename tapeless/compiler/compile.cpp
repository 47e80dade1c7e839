// compile: the pipeline from a module to machine code, and the executable that holds the result.
#include <chrono>
#include <set>

#include "tapeless/compiler/pipeline.h"
#include "tapeless/compiler/program.h"
#include "tapeless/compiler/reproducer.h"
#include "tapeless/inline/inline_calls.h"
#include "tapeless/ir/clone.h"
#include "tapeless/ir/op_def.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Functions that no other one names, or those asked for.
std::vector<std::string> entry_names(const Module& module, const CompileOptions& options) {
  if (!options.entries.empty()) {
    for (const std::string& name : options.entries) module.get(name);
    return options.entries;
  }
  std::set<std::string> named;
  for (const auto& f : module.functions)
    for (const auto& op : f->body)
      for (const auto& [key, attr] : op->attrs)
        if (const auto* ref = std::get_if<FunctionRef>(&attr)) named.insert(ref->name);
  std::vector<std::string> out;
  for (const auto& f : module.functions)
    if (f->has_body() && named.count(f->name) == 0) out.push_back(f->name);
  return out;
}

// A source module without anything that differs by mode is the same in both.
void require_specialized(Module& m) {
  if (m.stage != Stage::kSource) return;
  for (const auto& f : m.functions) {
    if (f->is_mode_op())
      compile_error(f->loc, "@{} differs by mode: specialize before compile", f->name);
    for (const auto& op : f->body)
      if (op->def().differs_by_mode() || op->is(kSetStateOp) || op->has("mode"))
        compile_error(op->loc, "[{}] differs by mode: specialize before compile", op->name());
  }
  m.stage = Stage::kSpecialized;
}

// Notes a part of the work behind the passes, in kernels instead of ops.
void record(std::vector<PassRecord>& records, const char* part, size_t functions, size_t kernels,
            Clock::time_point start) {
  records.push_back({part, Stage::kPlanned, functions, kernels, seconds_since(start), {}});
}

// The kernels and steps of all entries, then machine code.
void generate(Executable::Program& program, PipelineJob& job) {
  auto start = Clock::now();
  Target target = make_target(program.options.cpu);
  for (size_t i = 0; i < job.entries.size(); ++i) {
    const Function& f = *program.fused.get(job.entries[i]);
    program.entries.push_back(schedule(program.fused, f, target.machine, program.kernels));
    program.entries.back().checks = std::move(job.checks[i]);
  }
  record(job.records, "schedule", job.entries.size(), program.kernels.size(), start);
  start = Clock::now();
  std::optional<ObjectCache> cache;
  if (program.options.disk_cache) cache = ObjectCache::from_environment();
  program.code = compile_kernels(program.kernels, target, cache ? &*cache : nullptr);
  record(job.records, "codegen", job.entries.size(),
         static_cast<size_t>(program.code.stats().distinct), start);
}

}  // namespace

std::shared_ptr<const Executable> compile(const Module& module, const CompileOptions& options) {
  auto start = Clock::now();
  if (options.threads < 1) data_error("threads must be 1 or more, got {}", options.threads);
  auto program = std::make_unique<Executable::Program>();
  program->options = options;
  PipelineJob job;
  job.entries = entry_names(module, options);
  program->public_entries = job.entries.size();
  job.merge = options.fuse;
  job.keep_text = options.keep_text;
  Module kept = keep_reachable(module, job.entries);
  require_specialized(kept);
  program->fused = run_pipeline(tapeless::clone(kept), compile_pipeline(), job);
  try {
    generate(*program, job);
  } catch (const InternalError& e) {
    std::string command = "tapeless explain %s --no-cache --cpu " + options.cpu;
    throw_with_reproducer(e, kept, command);
  }
  program->threads = std::make_unique<ThreadPool>(options.threads);
  const CompileStats& stats = program->code.stats();
  program->report = {seconds_since(start), std::move(job.records), stats.distinct, stats.compiled,
                     stats.cached};
  return std::make_shared<const Executable>(std::move(program));
}

Executable::Executable(std::unique_ptr<Program> program) : program_(std::move(program)) {}
Executable::~Executable() = default;

const EntryPoint& Executable::Program::entry(std::string_view name) const {
  std::vector<std::string> names;
  for (const EntryPoint& e : entries) {
    if (e.name == name) return e;
    names.push_back(e.name);
  }
  std::string near = nearest(std::string(name), names);
  data_error("no entry point @{}{}", name,
             near.empty() ? std::string() : ", did you mean @" + near + "?");
}

std::vector<std::string> Executable::entries() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < program_->public_entries; ++i) names.push_back(program_->entries[i].name);
  return names;
}

bool Executable::has(std::string_view entry) const {
  for (const EntryPoint& e : program_->entries)
    if (e.name == entry) return true;
  return false;
}

const std::vector<Slot>& Executable::params(std::string_view entry) const {
  return program_->entry(entry).params;
}

const std::vector<Slot>& Executable::results(std::string_view entry) const {
  return program_->entry(entry).results;
}

const CompileReport& Executable::report() const { return program_->report; }

std::vector<Tensor> Executable::run(std::string_view entry, const std::vector<Tensor>& args) const {
  Call c = call(entry);
  if (args.size() != params(entry).size())
    data_error("@{} takes {} arguments, got {}", entry, params(entry).size(), args.size());
  for (size_t i = 0; i < args.size(); ++i) c.bind(static_cast<int>(i), args[i].clone());
  c.run();
  std::vector<Tensor> out;
  for (size_t i = 0; i < results(entry).size(); ++i)
    out.push_back(c.result(static_cast<int>(i)).clone());
  return out;
}

}  // namespace tapeless
