#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tapeless/support/diagnostics.h"

namespace tapeless {

/// A named value that only its reader knows, such as a hyperparameter of an optimizer.
struct RecipeSetting {
  std::string name;
  std::variant<bool, double, std::string> value;
  Loc loc;
};

struct ModelRecipe {
  /// `cnn` or `mlp`; empty where `file`, a path to a .tir file, says what the model is.
  std::string kind, file;
  std::string entry = "net";
  int64_t hidden = 128;
  bool batch_norm = false;
  double dropout1 = 0.25, dropout2 = 0.5;
  /// The bound of the batch symbol.
  int64_t max_batch = 1024;
};

struct DataRecipe {
  std::string kind = "idx";  // idx, random
  std::string name = "fashion-mnist", dir;
  std::vector<double> mean, stddev;
  int64_t limit = 0;                    // of idx: only the first rows
  int64_t rows = 4096, features = 784;  // of random
  int64_t classes = 10;
  double validation = 0;  // share of the training rows set aside
  bool shuffle = true;
  std::string last_batch = "keep";  // keep, drop
};

struct LossRecipe {
  std::string kind = "cross_entropy";
  double label_smoothing = 0;
};

struct OptimizerRecipe {
  /// A built-in one, or a path to a .tir file.
  std::string name = "sgd";
  std::string update = "inline";  // inline, separate
  std::optional<double> clip_norm, clip_value;
  bool decay_all = false;
  std::vector<RecipeSetting> settings;
};

/// The learning rate over a run, as factors of the optimizer's `lr`: after a linear warm-up from 0
/// it goes from 1 to `end` over the rest of the epochs.
struct ScheduleRecipe {
  std::string kind = "constant";  // constant, step, linear, cosine, polynomial
  double warmup_epochs = 0;
  double end = 0;
  double power = 2;        // of polynomial
  double step_epochs = 1;  // of step: how often it is multiplied by gamma
  double gamma = 0.1;
};

struct TrainRecipe {
  int64_t epochs = 1;
  int64_t max_steps = 0;  // 0: no limit
  int64_t batch = 64;
  int64_t accumulate = 1;
  uint64_t seed = 0;
  std::string precision = "f32";         // f32, bf16
  std::optional<std::string> nonfinite;  // skip, check_loss, off
  std::optional<double> ema;             // decay of averaged weights
  int64_t early_stop = 0;                // epochs without a better loss; 0: never
  int64_t memory_limit_mb = 0;           // 0: none
};

struct EvalRecipe {
  int64_t batch = 256;
  int64_t every = 1;  // epochs
};

struct GroupRecipe {
  std::string name;
  std::vector<std::string> patterns;
  std::string optimizer;  // empty: that of [optimizer]
  bool frozen = false;
  bool decay_all = false;
  std::vector<RecipeSetting> settings;
  Loc loc;
};

/// A training run as a TOML file describes it. Paths in it are relative to the file and are
/// resolved here.
struct Recipe {
  std::string path;
  std::string name;
  /// The TOML with overrides applied and paths absolute: what a run keeps.
  std::string text;
  ModelRecipe model;
  DataRecipe data;
  LossRecipe loss;
  OptimizerRecipe optimizer;
  ScheduleRecipe schedule;
  TrainRecipe train;
  EvalRecipe eval;
  std::vector<GroupRecipe> groups;

  /// Where `section.key` was set, for errors found later; else the section, else the file.
  Loc at(std::string_view key) const;
  std::map<std::string, Loc, std::less<>> locs = {{"", Loc{}}};
};

/// Reads a recipe; `overrides` are KEY=VALUE with dotted keys. A CompileError carries every
/// mistake: unknown keys (with the nearest known one), wrong types, values out of range.
Recipe read_recipe(const std::string& path, const std::vector<std::string>& overrides = {});
/// The same from a text in memory.
Recipe parse_recipe(std::shared_ptr<const SourceText> source,
                    const std::vector<std::string>& overrides = {});

}  // namespace tapeless
