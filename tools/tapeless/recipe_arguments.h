#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tapeless/train/trainer.h"

namespace tapeless {

/// What every command that takes a recipe has: the file, --set, --threads, --cpu, --no-cache.
struct RecipeArguments {
  std::string file, cpu = "native";
  std::vector<std::string> set;
  int threads = 0;
  bool no_cache = false;

  void add_to(CLI::App& command);
  Recipe read() const;
  TrainerOptions options() const;
  /// The file's name without folder and extension.
  std::string name() const;
};

}  // namespace tapeless
