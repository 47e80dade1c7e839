// `tapeless eval` and `tapeless predict`: a trained model over the test rows or a file's.
#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "recipe_arguments.h"
#include "tapeless/data/array_dataset.h"
#include "tapeless/import/safetensors.h"

namespace tapeless {

namespace {

struct PredictArguments {
  RecipeArguments recipe;
  std::string from, in, json;
};

void add_options(CLI::App& command, PredictArguments& a, const char* in) {
  a.recipe.add_to(command);
  command.add_option("--from", a.from, "a run folder (best/, else last/) or a checkpoint")
      ->required();
  command.add_option("--in", a.in, in);
  command.add_option("--json", a.json, "write JSON lines to this file, - for stdout");
}

// Tensors of a .safetensors file as a dataset: x, and y where there is one. Without y every label
// is 0 and no one reads it.
std::shared_ptr<const Dataset> read_rows(const std::string& path, bool labels) {
  TensorMap tensors = read_safetensors(path).tensors;
  auto x = tensors.find("x"), y = tensors.find("y");
  if (x == tensors.end()) data_error("{}: no tensor x", path);
  if (labels && y == tensors.end()) data_error("{}: no tensor y", path);
  if (x->second.rank() == 0) data_error("{}: x has no rows", path);
  auto data = std::make_shared<ArrayDataset>();
  data->add_column("x", x->second.dense());
  Tensor zeros(DType::kI32, {x->second.dim(0)});
  data->add_column("y", y == tensors.end() ? zeros : y->second.cast(DType::kI32));
  return data;
}

// Lines for a program (to a file or stdout), or text for a person.
class Output {
 public:
  explicit Output(const std::string& json) : name_(json) {
    if (json.empty() || json == "-") return;
    file_.open(json);
    if (!file_) data_error("{}: cannot be written", json);
  }
  bool json() const { return !name_.empty(); }
  void line(const nlohmann::ordered_json& object) {
    if (name_ == "-")
      fmt::print("{}\n", object.dump());
    else
      file_ << object.dump() << "\n";
  }
  void finish() {
    if (file_.is_open() && !file_.flush()) data_error("{}: cannot be written", name_);
  }

 private:
  std::string name_;
  std::ofstream file_;
};

void eval(const PredictArguments& a) {
  Predictor predictor(a.recipe.read(), a.from, a.recipe.options());
  auto rows = a.in.empty() ? predictor.data().test : read_rows(a.in, true);
  Evaluation result = predictor.evaluate(rows);
  Output out(a.json);
  if (out.json())
    out.line({{"event", "eval"},
              {"epoch", predictor.epoch()},
              {"loss", result.loss},
              {"accuracy", result.accuracy},
              {"rows", result.rows},
              {"seconds", result.seconds}});
  else
    fmt::print("loss {:.4f}  accuracy {:.2f} %  ({} rows in {:.2f} s)\n", result.loss,
               100 * result.accuracy, result.rows, result.seconds);
  out.finish();
}

void predict(const PredictArguments& a) {
  Predictor predictor(a.recipe.read(), a.from, a.recipe.options());
  Answers answers =
      predictor.classify(a.in.empty() ? predictor.data().test : read_rows(a.in, false));
  const std::vector<std::string>& names = predictor.data().class_names;
  Output out(a.json);
  for (size_t i = 0; i < answers.predicted.size(); ++i) {
    auto best = static_cast<size_t>(answers.predicted[i]);
    std::string name = best < names.size() ? names[best] : std::to_string(best);
    if (out.json())
      out.line({{"row", i},
                {"class", answers.predicted[i]},
                {"name", name},
                {"probability", answers.confidence[i]}});
    else
      fmt::print("{:>6}  {:<12} {:.3f}\n", i, name, answers.confidence[i]);
  }
  out.finish();
}

}  // namespace

void add_eval(CLI::App& app) {
  auto a = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("eval", "Loss and accuracy of a trained model");
  add_options(*command, *a, "a .safetensors file with x and y (the recipe's test rows)");
  command->footer("  tapeless eval recipes/cnn-bn.toml --from runs/cnn-bn");
  command->callback([a] { eval(*a); });
}

void add_predict(CLI::App& app) {
  auto a = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "Classes that a trained model gives to rows");
  add_options(*command, *a, "a .safetensors file with x (the recipe's test rows)");
  command->footer("  tapeless predict recipes/cnn-bn.toml --from runs/cnn-bn --json -");
  command->callback([a] { predict(*a); });
}

}  // namespace tapeless
