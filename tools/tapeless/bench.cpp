// `tapeless bench`: step times of a recipe on batches that lie in memory.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "machine_rates.h"
#include "recipe_arguments.h"
#include "step_bound.h"
#include "tapeless/data/loader.h"
#include "tapeless/import/safetensors.h"

namespace tapeless {

namespace {

using Clock = std::chrono::steady_clock;
using Batches = std::vector<std::vector<Tensor>>;

struct BenchArguments {
  RecipeArguments recipe;
  int64_t batch = 0, steps = 50, warmup = 5, losses = 10;
  std::string init, batches, json;
  bool no_dropout = false, no_bound = false, profile = false;
};

double milliseconds(Clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values.at(static_cast<size_t>(share * static_cast<double>(values.size() - 1)));
}

// View number i along the first axis.
Tensor slice(const Tensor& all, int64_t i) {
  Extents shape(all.shape().begin() + 1, all.shape().end());
  int64_t bytes = product(shape) * dtype_size(all.dtype());
  auto* data = static_cast<std::byte*>(all.raw()) + i * bytes;
  return Tensor::view(all.dtype(), shape, dense_strides(shape), data,
                      std::make_shared<Tensor>(all));
}

// A file holds x [N, B, ...] and y [N, B].
Batches read_batches(const std::string& path) {
  TensorMap tensors = read_safetensors(path).tensors;
  for (const char* name : {"x", "y"})
    if (tensors.find(name) == tensors.end()) data_error("{}: no tensor {}", path, name);
  Tensor x = tensors["x"].dense(), y = tensors["y"].dense();
  if (x.rank() < 3 || y.rank() < 2 || x.dim(0) != y.dim(0))
    data_error("{}: x is {}, y is {}: want x [N, B, ...] and y [N, B]", path, x.type_str(),
               y.type_str());
  if (y.dtype() == DType::kI64) y = y.cast(DType::kI32);
  Batches batches;
  for (int64_t i = 0; i < x.dim(0); ++i) batches.push_back({slice(x, i), slice(y, i)});
  return batches;
}

Batches take_batches(const Recipe& recipe, int64_t count) {
  Loader loader(
      load_data(recipe).train,
      {.batch = recipe.train.batch, .seed = recipe.train.seed, .last_batch = LastBatch::kDrop});
  Batches batches;
  while (static_cast<int64_t>(batches.size()) < count) {
    const Batch* batch = loader.next();
    if (batch == nullptr) break;
    std::vector<Tensor> copy;
    for (const Tensor& t : batch->tensors) copy.push_back(t.clone());
    batches.push_back(std::move(copy));
  }
  return batches;
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Recipe bench_recipe(const BenchArguments& a) {
  std::vector<std::string> set = a.recipe.set;
  if (a.batch > 0) set.push_back(fmt::format("train.batch={}", a.batch));
  Recipe recipe = read_recipe(a.recipe.file, set);
  if (a.no_dropout) recipe.model.dropout1 = recipe.model.dropout2 = 0;
  return recipe;
}

Session make_session(const Recipe& recipe, const BenchArguments& a, const Batches& batches) {
  Extents input(batches.at(0).at(0).shape().begin() + 1, batches[0][0].shape().end());
  SessionSpec spec;
  spec.model = build_model(recipe, input);
  spec.optimizer = step_options(recipe);
  spec.choices = training_choices(recipe);
  spec.compile = compile_options(a.recipe.options());
  spec.seed = recipe.train.seed;
  Session session(std::move(spec));
  if (!a.init.empty()) session.state().assign_model(read_safetensors(a.init).tensors, a.init);
  return session;
}

struct Times {
  double first_step_s = 0;
  std::vector<double> step_ms;
  std::vector<double> losses;
};

Times measure(Session& session, const Batches& batches, const BenchArguments& a,
              Clock::time_point start) {
  Times times;
  int64_t total = std::max(a.steps + a.warmup, a.losses);
  for (int64_t i = 0; i < total; ++i) {
    auto begin = Clock::now();
    double loss = session.step(batches[static_cast<size_t>(i) % batches.size()]).loss;
    if (i == 0) times.first_step_s = milliseconds(Clock::now() - start) / 1e3;
    if (i >= a.warmup && i < a.warmup + a.steps)
      times.step_ms.push_back(milliseconds(Clock::now() - begin));
    if (i < a.losses) times.losses.push_back(loss);
  }
  return times;
}

nlohmann::ordered_json describe(const Recipe& recipe, const Session& session, const Times& times,
                                const BenchArguments& a) {
  const CompileReport& report = session.executable().report();
  double median = percentile(times.step_ms, 0.5);
  nlohmann::ordered_json out = {
      {"workload", recipe.name},
      {"batch", recipe.train.batch},
      {"threads", a.recipe.options().threads},
      {"precision", recipe.train.precision},
      {"optimizer", recipe.optimizer.name},
      {"inline", recipe.optimizer.update == "inline"},
      {"first_step_s", times.first_step_s},
      {"cached", report.kernels_compiled == 0},
      {"step_ms_median", median},
      {"step_ms_min", percentile(times.step_ms, 0)},
      {"step_ms_p90", percentile(times.step_ms, 0.9)},
      {"peak_rss_mb", peak_rss_mb()},
      {"arena_mb", static_cast<double>(session.arena_bytes()) / (1 << 20)}};
  if (!a.no_bound) {
    MachineRates rates = measure_machine(a.recipe.cpu, a.recipe.options().threads);
    StepWork work = count_step_work(session, recipe.train.batch);
    double bound_ms = 1e3 * (work.flops / rates.flops + work.bytes / rates.bytes);
    out["bound_share"] = bound_ms / median;
    out["bound_ms"] = bound_ms;
    out["machine_gflops"] = rates.flops / 1e9;
    out["machine_gb_s"] = rates.bytes / 1e9;
  }
  out["losses"] = times.losses;
  return out;
}

void print_table(const nlohmann::ordered_json& result) {
  for (const auto& [key, value] : result.items())
    if (value.is_number_float())
      fmt::print("{:<16}{:.4g}\n", key, value.get<double>());
    else if (!value.is_array())
      fmt::print("{:<16}{}\n", key, value.dump());
}

// Median time of every kernel over the steps, the slowest first.
void print_profile(Session& session, const Batches& batches, const BenchArguments& a) {
  std::vector<std::vector<double>> ms;
  std::vector<Call::StepTime> names;
  for (int64_t i = 0; i < a.warmup + a.steps; ++i) {
    names = session.step_timed(batches[static_cast<size_t>(i) % batches.size()]);
    ms.resize(names.size());
    if (i < a.warmup) continue;
    for (size_t k = 0; k < names.size(); ++k) ms[k].push_back(1e3 * names[k].seconds);
  }
  std::vector<std::pair<double, size_t>> order;
  double total = 0;
  for (size_t k = 0; k < ms.size(); ++k) {
    order.emplace_back(percentile(ms[k], 0.5), k);
    total += order.back().first;
  }
  std::sort(order.rbegin(), order.rend());
  fmt::print("{:>10} {:>6} {:>7}  kernel\n", "ms", "%", "tasks");
  for (const auto& [median, k] : order)
    fmt::print("{:>10.4f} {:>6.1f} {:>7}  {}\n", median, 100 * median / total, names[k].tasks,
               names[k].name);
  fmt::print("{:>10.4f}                  total\n", total);
}

void bench(const BenchArguments& a, Clock::time_point start) {
  Recipe recipe = bench_recipe(a);
  Batches batches = a.batches.empty() ? take_batches(recipe, 20) : read_batches(a.batches);
  if (batches.empty()) data_error("{}: no batches", a.batches);
  recipe.train.batch = batches[0][0].dim(0);
  Session session = make_session(recipe, a, batches);
  if (a.profile) return print_profile(session, batches, a);
  Times times = measure(session, batches, a, start);
  nlohmann::ordered_json result = describe(recipe, session, times, a);
  if (a.json.empty()) return print_table(result);
  if (a.json == "-") {
    fmt::print("{}\n", result.dump());
    return;
  }
  std::ofstream out(a.json, std::ios::app);
  out << result.dump() << "\n";
  if (!out.flush()) data_error("{}: cannot be written", a.json);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto start = Clock::now();
  auto a = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "Time the training step of a recipe");
  command->footer(
      "Times the step alone: batch in memory, forward, loss, backward, update. first_step_s runs\n"
      "from the start of the process. bound_share is the time that the step's contractions need "
      "at\n"
      "the multiply-add rate of this machine plus its unavoidable bytes at the copy rate, over "
      "the\n"
      "median; both rates are measured in the same run.");
  a->recipe.add_to(*command);
  command->add_option("--batch", a->batch, "rows of a batch (the recipe's)")
      ->check(CLI::PositiveNumber);
  command->add_option("--steps", a->steps, "counted steps")->check(CLI::PositiveNumber);
  command->add_option("--warmup", a->warmup, "steps before those")->check(CLI::NonNegativeNumber);
  command->add_option("--losses", a->losses, "how many losses to report, from the first step on");
  command->add_flag("--no-dropout", a->no_dropout, "for parity with another system");
  command->add_flag("--profile", a->profile, "print the median time of every kernel instead");
  command->add_flag("--no-bound", a->no_bound, "do not measure the machine");
  command->add_option("--init", a->init, "start from the parameters of this .safetensors file");
  command->add_option("--batches", a->batches, "use batches x [N, B, ...], y [N, B] of this file");
  command->add_option("--json", a->json, "write one JSON line to this file, - for stdout");
  command->callback([a, start] { bench(*a, start); });
}

}  // namespace tapeless
