// `tapeless explain`: what the compiler made of a recipe or of a file.
#include "tapeless/compiler/explain.h"

#include <fmt/core.h>

#include <chrono>
#include <set>

#include "commands.h"
#include "recipe_arguments.h"
#include "tapeless/autodiff/differentiate.h"
#include "tapeless/autodiff/split.h"
#include "tapeless/compiler/passes.h"
#include "tapeless/ir/clone.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/text/parse.h"

namespace tapeless {

namespace {

using Clock = std::chrono::steady_clock;

struct ExplainArguments {
  RecipeArguments recipe;
  std::string what = "kernels", dump, entry, passes;
  int64_t batch = 0;
};

// What is explained: a compiled module, and for a recipe the plan of its step.
struct Subject {
  Module module;
  std::shared_ptr<const Executable> executable;
  std::optional<optim::StepPlan> plan;
  nn::Model model;  // of a recipe
  std::string entry;
  int64_t batch = 64;
};

// Every symbol of the entry at the size of the batch.
SymbolValues sizes_of(const Subject& s) {
  std::set<std::string> symbols;
  for (const Slot& slot : s.executable->params(s.entry))
    for (const Dim& d : slot.type.shape) d.collect_symbols(symbols);
  SymbolValues sizes;
  for (const std::string& symbol : symbols) sizes[symbol] = s.batch;
  return sizes;
}

std::string default_entry(const Executable& executable) {
  for (const char* name : {"train_step", "grad_step", "accumulate"})
    if (executable.has(name)) return name;
  return executable.entries().at(0);
}

Subject read_recipe_subject(const ExplainArguments& a) {
  Recipe recipe = a.recipe.read();
  Subject s;
  TrainingData data = load_data(recipe);
  s.model = build_model(recipe, data.input);
  TrainingModule program = build_training_module(
      s.model.module, {.loss = s.model.loss, .predict = s.model.predict, .init = s.model.init},
      step_options(recipe), training_choices(recipe));
  CompileOptions options = compile_options(a.recipe.options());
  options.entries = program.entries;
  s.executable = compile(program.module, options);
  s.module = std::move(program.module);
  s.plan = std::move(program.plan);
  s.batch = recipe.train.batch;
  return s;
}

Subject read_file_subject(const ExplainArguments& a) {
  Subject s;
  s.module = run_passes(parse_file(a.recipe.file), a.passes);
  if (s.module.stage == Stage::kSource) {
    std::vector<ModeRequest> requests;
    for (const auto& f : s.module.functions)
      if (f->has_body()) requests.push_back({f->name, Mode::kInfer});
    s.module = specialize(s.module, requests);
  }
  s.executable = compile(s.module, compile_options(a.recipe.options()));
  return s;
}

const optim::StepPlan& plan_of(const Subject& s) {
  if (!s.plan) data_error("--what optimizer needs a recipe");
  return *s.plan;
}

std::string updating_entry(const Executable& executable) {
  for (const char* name : {"train_step", "update", "update_accumulated"})
    if (executable.has(name)) return name;
  TL_CHECK(false, "no entry point updates parameters");
}

// What the backward of the loss reads of the forward: the minimum cut.
std::string saved_text(const Subject& s) {
  if (!s.plan) data_error("--what saved needs a recipe");
  ModeRequest request{s.model.loss, Mode::kTrain};
  Module module = specialize(s.model.module, {&request, 1});
  std::string loss = s.model.loss + ".train";
  module = differentiate(module, {.function = loss, .of = {"0"}});
  SplitRequest split_request{.function = loss, .sizes = {{"B", s.batch}}};
  return explain_saved(list_saved(split(module, split_request), split_request));
}

// The back half of the pipeline, pass by pass.
void print_passes(const Subject& s) {
  auto count = [](const Module& m) {
    size_t ops = 0;
    for (const auto& f : m.functions) ops += f->body.size();
    return ops;
  };
  fmt::print("{:<20} {:>10} {:>8} {:>9}\n", "after", "functions", "ops", "ms");
  fmt::print("{:<20} {:>10} {:>8}\n", stage_name(s.module.stage), s.module.functions.size(),
             count(s.module));
  auto begin = Clock::now();
  run_passes(tapeless::clone(s.module), "inline_calls,simplify,expand_composites,simplify,fuse",
             [&](std::string_view name, const Module& m) {
               double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
               fmt::print("{:<20} {:>10} {:>8} {:>9.2f}\n", name, m.functions.size(), count(m), ms);
               begin = Clock::now();
             });
}

void explain(const ExplainArguments& a) {
  bool is_recipe = a.recipe.file.ends_with(".toml");
  Subject s = is_recipe ? read_recipe_subject(a) : read_file_subject(a);
  s.entry = a.entry.empty() ? default_entry(*s.executable) : a.entry;
  if (a.batch > 0) s.batch = a.batch;
  if (!a.dump.empty()) {
    fmt::print("{}", dump_code(*s.executable, s.entry, a.dump));
    return;
  }
  fmt::print("{}", explain_compile(*s.executable));
  if (a.what == "plan") fmt::print("{}", explain_plan(*s.executable, s.entry, sizes_of(s)));
  if (a.what == "kernels") fmt::print("{}", explain_kernels(*s.executable, s.entry, sizes_of(s)));
  if (a.what == "saved") fmt::print("{}", saved_text(s));
  if (a.what == "passes") print_passes(s);
  if (a.what == "optimizer")
    fmt::print("{}", explain_updates(*s.executable, updating_entry(*s.executable), plan_of(s)));
}

}  // namespace

void add_explain(CLI::App& app) {
  auto a = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand("explain", "Show what the compiler made of a program");
  command->footer(
      "  plan       the arena: every value's offset, bytes and steps at the sizes at hand\n"
      "  saved      what the backward reads of the forward, and why\n"
      "  kernels    the kernels of a step in order, with their source lines\n"
      "  optimizer  where each parameter is updated, and whether its gradient is stored\n"
      "  passes     what each pass leaves\n\n"
      "  tapeless explain recipes/cnn.toml --what optimizer\n"
      "  tapeless explain recipes/mlp.toml --dump loop");
  a->recipe.add_to(*command);
  command->get_option("RECIPE")->description("a recipe, or a .tir file");
  command->add_option("--what", a->what, "plan, saved, kernels, optimizer or passes")
      ->check(CLI::IsMember({"plan", "saved", "kernels", "optimizer", "passes"}));
  command->add_option("--dump", a->dump, "print code instead: tir, loop, llvm or asm")
      ->check(CLI::IsMember({"tir", "loop", "llvm", "asm"}));
  command->add_option("--entry", a->entry, "the entry point (train_step, or the first)");
  command->add_option("--batch", a->batch, "the size of the batch (the recipe's)")
      ->check(CLI::PositiveNumber);
  command->add_option("--passes", a->passes, "passes to run on a .tir file first");
  command->callback([a] { explain(*a); });
}

}  // namespace tapeless
