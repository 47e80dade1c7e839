// `tapeless train`: a recipe in, a run folder out.
#include <fmt/core.h>
#include <unistd.h>

#include "commands.h"
#include "recipe_arguments.h"
#include "tapeless/train/trainer.h"

namespace tapeless {

namespace {

struct TrainArguments {
  RecipeArguments recipe;
  std::string out, resume, json;
};

void train(const TrainArguments& arguments) {
  TrainerOptions options = arguments.recipe.options();
  options.json = arguments.json;
  options.progress = arguments.json != "-";
  options.handle_interrupt = true;
  options.out = !arguments.out.empty()      ? arguments.out
                : !arguments.resume.empty() ? arguments.resume
                                            : "runs/" + arguments.recipe.name();
  Trainer trainer(arguments.recipe.read(), options);
  if (!arguments.resume.empty()) trainer.resume(arguments.resume);
  TrainResult result = trainer.train();
  if (!options.progress) return;
  if (result.interrupted)
    fmt::print("interrupted after step {}; go on with --resume {}\n", result.steps, options.out);
  else
    fmt::print("report: {}/report.html\n", options.out);
}

}  // namespace

void add_train(CLI::App& app) {
  auto a = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "Train a recipe and write a run folder");
  command->footer(
      "The run folder holds recipe.toml, metrics.jsonl, TensorBoard events, report.html, and the\n"
      "checkpoints last/ and best/. Ctrl-C finishes the step and saves; a second one stops.\n\n"
      "  tapeless train recipes/cnn-bn.toml --out runs/demo\n"
      "  tapeless train recipes/cnn.toml --set train.epochs=1 --set optimizer.lr=0.5\n"
      "  tapeless train recipes/cnn-bn.toml --resume runs/demo");
  a->recipe.add_to(*command);
  command->add_option("--out", a->out, "the run folder (runs/<recipe>)");
  command->add_option("--resume", a->resume, "go on from the last checkpoint of this run folder");
  command->add_option("--json", a->json,
                      "write one JSON object an event to this file, - for stdout");
  command->callback([a] { train(*a); });
}

}  // namespace tapeless
