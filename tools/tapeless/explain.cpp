// `tapeless explain`: what the compiler made of a recipe or of a file.
#include "tapeless/compiler/explain.h"

#include <fmt/core.h>

#include <set>

#include "commands.h"
#include "recipe_arguments.h"
#include "tapeless/compiler/passes.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/text/parse.h"

namespace tapeless {

namespace {

struct ExplainArguments {
  RecipeArguments recipe;
  std::string what = "kernels", dump, entry, passes;
  int64_t batch = 0;

  // The module after each pass is printed.
  bool keeps_text() const { return what == "passes" && dump == "tir"; }
};

// What is explained: a compiled module, and for a recipe the plan of its step.
struct Subject {
  Module module;
  std::shared_ptr<const Executable> executable;
  std::optional<optim::StepPlan> plan;
  nn::Model model;  // of a recipe
  TrainingChoices choices;
  std::vector<PassRecord> passes;  // of the training pipeline
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
  s.choices = training_choices(recipe);
  s.choices.keep_text = a.keeps_text();
  TrainingModule program = build_training_module(
      s.model.module, {.loss = s.model.loss, .predict = s.model.predict, .init = s.model.init},
      step_options(recipe), s.choices);
  CompileOptions options = compile_options(a.recipe.options());
  options.entries = program.entries;
  options.keep_text = a.keeps_text();
  s.executable = compile(program.module, options);
  s.module = std::move(program.module);
  s.plan = std::move(program.plan);
  s.passes = std::move(program.passes);
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
  CompileOptions options = compile_options(a.recipe.options());
  options.keep_text = a.keeps_text();
  s.executable = compile(s.module, options);
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

std::string saved_text(const Subject& s) {
  SymbolValues sizes = sizes_of(s);
  if (!s.plan) {
    std::string cuts = explain_cuts(s.module, sizes);
    if (cuts.empty()) data_error("--what saved needs a recipe, or --passes with `differentiate`");
    return cuts;
  }
  TrainingChoices choices = s.choices;
  choices.sizes = sizes;
  return explain_kept(*s.executable, s.entry, sizes) + "\n" +
         explain_cut(s.model.module, s.model.loss, choices);
}

std::string passes_text(const Subject& s) {
  std::vector<PassRecord> passes = s.passes;
  const std::vector<PassRecord>& behind = s.executable->report().passes;
  passes.insert(passes.end(), behind.begin(), behind.end());
  return explain_passes(passes);
}

std::string text_of(const Subject& s, const std::string& what) {
  if (what == "plan") return explain_plan(*s.executable, s.entry, sizes_of(s));
  if (what == "saved") return saved_text(s);
  if (what == "kernels") return explain_kernels(*s.executable, s.entry, sizes_of(s));
  if (what == "passes") return passes_text(s);
  return explain_updates(*s.executable, updating_entry(*s.executable), plan_of(s));
}

void explain(const ExplainArguments& a) {
  bool is_recipe = a.recipe.file.ends_with(".toml");
  Subject s = is_recipe ? read_recipe_subject(a) : read_file_subject(a);
  s.entry = a.entry.empty() ? default_entry(*s.executable) : a.entry;
  if (a.batch > 0) s.batch = a.batch;
  if (!a.dump.empty() && !a.keeps_text()) {
    fmt::print("{}", dump_code(*s.executable, s.entry, a.dump));
    return;
  }
  fmt::print("{}{}", explain_compile(*s.executable, s.entry), text_of(s, a.what));
}

}  // namespace

void add_explain(CLI::App& app) {
  auto a = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand("explain", "Show what the compiler made of a program");
  command->footer(
      "  plan       the arena: every value's offset, bytes and steps at the sizes at hand\n"
      "  saved      what the backward reads of the forward, by whom and why\n"
      "  kernels    the kernels of a step in order: ops, source lines, tiles, work\n"
      "  optimizer  where each parameter is updated, and whether its gradient is stored\n"
      "  passes     what each pass took and left; with --dump tir the module after each\n\n"
      "  tapeless explain recipes/cnn.toml --what optimizer\n"
      "  tapeless explain recipes/mlp.toml --dump loop\n"
      "  tapeless explain net.tir --passes 'specialize{functions = [f], mode = train}'");
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
