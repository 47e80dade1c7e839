// Recipes: TOML to typed values. Each section lists its keys once, in one function.
#include "tapeless/train/recipe.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "tapeless/support/file.h"
#include "tapeless/train/toml_section.h"

namespace tapeless {

namespace {

class RecipeReader {
 public:
  RecipeReader(std::shared_ptr<const SourceText> source, const std::vector<std::string>& overrides)
      : source_(source), document_(source, overrides), changed_(!overrides.empty()) {
    recipe_.path = source->name;
    recipe_.name = std::filesystem::path(source->name).stem().string();
    recipe_.locs[""] = Loc{source, 0, 0, ""};
  }

  Recipe read() {
    TomlSection top = TomlSection(document_, &document_.root(), "", recipe_.locs);
    top.string("name", recipe_.name);
    read_model(section(top, "model"));
    read_data(section(top, "data"));
    read_loss(section(top, "loss"));
    read_optimizer(section(top, "optimizer"));
    read_schedule(section(top, "schedule"));
    read_train(section(top, "train"));
    read_eval(section(top, "eval"));
    read_groups(top);
    top.finish();
    document_.check();
    recipe_.text = source_->text;
    if (changed_) {
      std::ostringstream out;
      out << document_.root() << "\n";
      recipe_.text = out.str();
    }
    return std::move(recipe_);
  }

 private:
  TomlSection section(TomlSection& top, const char* name) {
    return {document_, top.table(name), name, recipe_.locs};
  }

  // Makes a path of the recipe absolute, in the text that is kept as well.
  void resolve(const char* section, const char* key, std::string& path) {
    std::filesystem::path given(path);
    if (path.empty() || given.is_absolute()) return;
    std::filesystem::path folder = std::filesystem::absolute(recipe_.path).parent_path();
    path = (folder / given).lexically_normal().string();
    document_.root()[section].as_table()->insert_or_assign(key, path);
    changed_ = true;
  }

  static bool is_file(const std::string& optimizer) { return optimizer.ends_with(".tir"); }

  void read_model(TomlSection s) {
    ModelRecipe& m = recipe_.model;
    bool known = s.choice("kind", m.kind, {"cnn", "mlp"});
    s.string("file", m.file);
    if (s.has("kind") == s.has("file"))
      document_.error(s.at(s.has("file") ? "file" : "kind"),
                      "a model is given by one of `kind` and `file` in [model]");
    if (!m.file.empty()) s.string("entry", m.entry);
    if (!m.kind.empty()) s.integer("hidden", m.hidden, 1);
    if (m.kind == "cnn") {
      s.boolean("batch_norm", m.batch_norm);
      s.number("dropout1", m.dropout1, {0, 1});
      s.number("dropout2", m.dropout2, {0, 1});
    }
    if (!m.kind.empty()) s.integer("max_batch", m.max_batch, 1);
    if (known) s.finish(m.kind.empty() ? "" : " of kind " + m.kind);
    resolve("model", "file", m.file);
  }

  void read_data(TomlSection s) {
    DataRecipe& d = recipe_.data;
    bool known = s.choice("kind", d.kind, {"idx", "random"});
    if (d.kind == "idx") {
      s.string("name", d.name);
      s.string("dir", d.dir);
      s.numbers("mean", d.mean, {});
      s.numbers("std", d.stddev, {1e-6});
      s.integer("limit", d.limit, 0);
    } else {
      s.integer("rows", d.rows, 1);
      s.integer("features", d.features, 1);
    }
    s.integer("classes", d.classes, 1);
    s.number("validation", d.validation, {0, 0.9});
    s.boolean("shuffle", d.shuffle);
    s.choice("last_batch", d.last_batch, {"keep", "drop"});
    if (known) s.finish(" of kind " + d.kind);
    resolve("data", "dir", d.dir);
  }

  void read_loss(TomlSection s) {
    LossRecipe& l = recipe_.loss;
    bool known =
        s.choice("kind", l.kind, {"cross_entropy", "nll", "bce_with_logits", "mse", "l1", "huber"});
    if (l.kind == "cross_entropy") s.number("label_smoothing", l.label_smoothing, {0, 1});
    if (known) s.finish(" of kind " + l.kind);
  }

  void read_optimizer(TomlSection s) {
    OptimizerRecipe& o = recipe_.optimizer;
    s.string("name", o.name);
    s.choice("update", o.update, {"inline", "separate"});
    s.number("clip_norm", o.clip_norm, {0});
    s.number("clip_value", o.clip_value, {0});
    s.boolean("decay_all", o.decay_all);
    s.rest(o.settings);
    if (is_file(o.name)) resolve("optimizer", "name", o.name);
  }

  void read_schedule(TomlSection s) {
    ScheduleRecipe& p = recipe_.schedule;
    bool known = s.choice("kind", p.kind, {"constant", "step", "linear", "cosine", "polynomial"});
    s.number("warmup_epochs", p.warmup_epochs, {0});
    if (p.kind == "step") {
      s.number("step_epochs", p.step_epochs, {1e-9});
      s.number("gamma", p.gamma, {0});
    } else if (p.kind != "constant") {
      s.number("end", p.end, {0});
      if (p.kind == "polynomial") s.number("power", p.power, {0});
    }
    if (known) s.finish(" of kind " + p.kind);
  }

  void read_train(TomlSection s) {
    TrainRecipe& t = recipe_.train;
    s.integer("epochs", t.epochs, 1);
    s.integer("max_steps", t.max_steps, 0);
    s.integer("batch", t.batch, 1);
    s.integer("accumulate", t.accumulate, 1);
    int64_t seed = 0;
    s.integer("seed", seed, 0);
    t.seed = static_cast<uint64_t>(seed);
    s.choice("precision", t.precision, {"f32", "bf16"});
    std::string nonfinite;
    s.choice("nonfinite", nonfinite, {"skip", "check_loss", "off"});
    if (!nonfinite.empty()) t.nonfinite = nonfinite;
    s.number("ema", t.ema, {0, 1});
    s.integer("early_stop", t.early_stop, 0);
    s.integer("memory_limit_mb", t.memory_limit_mb, 0);
    s.finish();
    if (!recipe_.model.kind.empty() && t.batch > recipe_.model.max_batch)
      document_.error(s.at("batch"), fmt::format("`batch` is {}, above the model's max_batch of {}",
                                                 t.batch, recipe_.model.max_batch));
  }

  void read_eval(TomlSection s) {
    s.integer("batch", recipe_.eval.batch, 1);
    s.integer("every", recipe_.eval.every, 1);
    s.finish();
  }

  void read_groups(TomlSection& top) {
    const toml::array* groups = top.tables("groups");
    if (groups == nullptr) return;
    for (const toml::node& node : *groups) {
      GroupRecipe g;
      std::string path = fmt::format("groups.{}", recipe_.groups.size());
      TomlSection s(document_, node.as_table(), path, recipe_.locs);
      g.loc = document_.loc(node.source());
      g.name = fmt::format("group{}", recipe_.groups.size());
      s.string("name", g.name);
      s.strings("patterns", g.patterns);
      if (g.patterns.empty()) document_.error(g.loc, "a group has no `patterns`");
      s.string("optimizer", g.optimizer);
      if (is_file(g.optimizer) && std::filesystem::path(g.optimizer).is_relative())
        g.optimizer = (std::filesystem::absolute(recipe_.path).parent_path() / g.optimizer)
                          .lexically_normal()
                          .string();
      s.boolean("frozen", g.frozen);
      s.boolean("decay_all", g.decay_all);
      s.rest(g.settings);
      recipe_.groups.push_back(std::move(g));
    }
  }

  std::shared_ptr<const SourceText> source_;
  TomlDocument document_;
  bool changed_;
  Recipe recipe_;
};

}  // namespace

Loc Recipe::at(std::string_view key) const {
  auto found = locs.find(key);
  while (found == locs.end()) {
    size_t dot = key.rfind('.');
    key = dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
    found = locs.find(key);
  }
  return found->second;
}

Recipe read_recipe(const std::string& path, const std::vector<std::string>& overrides) {
  return parse_recipe(std::make_shared<SourceText>(SourceText{path, read_text_file(path)}),
                      overrides);
}

Recipe parse_recipe(std::shared_ptr<const SourceText> source,
                    const std::vector<std::string>& overrides) {
  return RecipeReader(std::move(source), overrides).read();
}

}  // namespace tapeless
