// The options that commands on recipes share.
#include "recipe_arguments.h"

#include <filesystem>
#include <thread>

#include "tapeless/support/diagnostics.h"

namespace tapeless {

void RecipeArguments::add_to(CLI::App& command) {
  command.add_option("RECIPE", file, "a recipe, such as recipes/cnn.toml")->required();
  command.add_option("--set", set, "override a key: train.epochs=3, optimizer.name=adamw");
  command.add_option("--threads", threads, "threads of a step (all processors)")
      ->check([](const std::string& text) {
        return CLI::Range(1, 4096)(text).empty() ? "" : "must be 1 or more, got " + text;
      });
  command.add_option("--cpu", cpu, "code for native, avx512, avx2 or x86-64");
  command.add_flag("--no-cache", no_cache, "neither read nor write the cache of object code");
}

Recipe RecipeArguments::read() const { return read_recipe(file, set); }

TrainerOptions RecipeArguments::options() const {
  TrainerOptions options;
  options.threads = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  options.cpu = cpu;
  options.disk_cache = !no_cache;
  return options;
}

std::string RecipeArguments::name() const { return std::filesystem::path(file).stem().string(); }

}  // namespace tapeless
