// Data, model, optimizer and schedule of a recipe.
#include "tapeless/train/build.h"

#include <algorithm>
#include <cmath>

#include "tapeless/data/image_data.h"
#include "tapeless/data/order.h"
#include "tapeless/optim/schedule.h"
#include "tapeless/text/parse.h"

namespace tapeless {

namespace {

TrainingData load_images(const DataRecipe& d) {
  ImageData images = load_image_data({.name = d.name,
                                      .dir = d.dir,
                                      .normalization = {d.mean, d.stddev},
                                      .classes = d.classes,
                                      .limit = d.limit});
  TrainingData data{.train = images.train, .test = images.test};
  data.test_pixels = images.test->column(0);
  data.classes = images.classes;
  data.class_names = images.class_names;
  return data;
}

TrainingData make_random(const DataRecipe& d, uint64_t seed) {
  RandomDataOptions options{
      .rows = d.rows, .features = d.features, .classes = d.classes, .seed = seed};
  TrainingData data{.train = random_dataset(options)};
  options.seed = seed + 1;
  options.rows = std::min<int64_t>(d.rows, 1024);
  data.test = random_dataset(options);
  data.classes = d.classes;
  for (int64_t c = 0; c < d.classes; ++c) data.class_names.push_back(std::to_string(c));
  return data;
}

optim::Settings settings_of(const std::vector<RecipeSetting>& settings) {
  optim::Settings out;
  for (const RecipeSetting& s : settings) out.emplace(s.name, s.value);
  return out;
}

// A network that a recipe asks for by its kind was written in the recipe, to its user.
template <class Make>
nn::Model located(const Loc& loc, Make&& make) {
  try {
    nn::Model model = make();
    for (const auto& f : model.module.functions) {
      f->loc = loc;
      for (const auto& op : f->body) op->loc = loc;
    }
    return model;
  } catch (const CompileError& e) {
    throw_compile_error(loc, e.diagnostics().front().message);
  }
}

}  // namespace

TrainingData load_data(const Recipe& recipe) {
  const DataRecipe& d = recipe.data;
  TrainingData data = d.kind == "random" ? make_random(d, recipe.train.seed) : load_images(d);
  data.input = data.train->fields().at(0).row;
  if (d.validation > 0) {
    RowSplit split = split_rows(data.train->rows(), d.validation, recipe.train.seed);
    data.validation = std::make_shared<SubsetDataset>(data.train, std::move(split.validation));
    data.train = std::make_shared<SubsetDataset>(data.train, std::move(split.train));
  }
  return data;
}

nn::Model build_model(const Recipe& recipe, const Extents& input, const nn::NetFunction& net) {
  const ModelRecipe& m = recipe.model;
  nn::Loss loss{.kind = recipe.loss.kind, .label_smoothing = recipe.loss.label_smoothing};
  if (!m.file.empty()) return nn::make_model(parse_file(m.file), m.entry, loss);
  int64_t classes = recipe.data.classes;
  nn::Problem problem{.input = Shape(input.begin(), input.end()),
                      .classes = classes,
                      .max_batch = m.max_batch,
                      .loss = loss};
  if (net) return nn::make_model(problem, net);
  nn::NetOptions options{.dropout1 = m.dropout1,
                         .dropout2 = m.dropout2,
                         .hidden = m.hidden,
                         .batch_norm = m.batch_norm};
  auto network = [&](nn::Layers& l, Value* x) {
    return m.kind == "cnn" ? nn::cnn(l, x, classes, options) : nn::mlp(l, x, classes, options);
  };
  return located(recipe.at("model.kind"), [&] { return nn::make_model(problem, network); });
}

optim::StepOptions step_options(const Recipe& recipe) {
  const OptimizerRecipe& o = recipe.optimizer;
  optim::StepOptions options;
  options.optimizer = o.name;
  options.settings = settings_of(o.settings);
  options.decay_all = o.decay_all;
  for (const GroupRecipe& g : recipe.groups)
    options.groups.push_back({.name = g.name,
                              .patterns = g.patterns,
                              .optimizer = g.optimizer,
                              .settings = settings_of(g.settings),
                              .frozen = g.frozen,
                              .decay_all = g.decay_all,
                              .loc = g.loc});
  options.accumulation = recipe.train.accumulate > 1;
  options.separate_step = !options.accumulation && o.update == "separate";
  options.inline_step = !options.accumulation && !options.separate_step;
  options.clip_norm = o.clip_norm;
  options.clip_value = o.clip_value;
  if (recipe.train.nonfinite == "skip") options.nonfinite = optim::Nonfinite::kSkip;
  if (recipe.train.nonfinite == "check_loss") options.nonfinite = optim::Nonfinite::kCheckLoss;
  if (recipe.train.nonfinite == "off") options.nonfinite = optim::Nonfinite::kOff;
  options.ema_decay = recipe.train.ema;
  options.loc = recipe.at("optimizer.name");
  return options;
}

TrainingChoices training_choices(const Recipe& recipe) {
  TrainingChoices choices;
  choices.bf16 = recipe.train.precision == "bf16";
  if (recipe.train.memory_limit_mb > 0) choices.memory_limit = recipe.train.memory_limit_mb << 20;
  choices.sizes = {{"B", recipe.train.batch}};
  return choices;
}

std::function<double(int64_t)> schedule_factor(const Recipe& recipe, int64_t steps_per_epoch) {
  const ScheduleRecipe& r = recipe.schedule;
  auto steps = [&](double epochs) {
    return static_cast<int64_t>(std::llround(epochs * static_cast<double>(steps_per_epoch)));
  };
  Loc loc = recipe.at("schedule.kind");
  optim::Schedule schedule{.kind = optim::schedule_kind(r.kind, loc),
                           .warmup = steps(r.warmup_epochs),
                           .total = recipe.train.epochs * steps_per_epoch,
                           .final_fraction = r.end,
                           .power = r.power,
                           .gamma = r.gamma,
                           .every = std::max<int64_t>(1, steps(r.step_epochs))};
  optim::check_schedule(schedule, loc);
  return [schedule](int64_t step) { return schedule.factor(step - 1); };
}

}  // namespace tapeless
