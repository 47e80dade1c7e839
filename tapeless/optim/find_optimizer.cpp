// Where optimizers come from: the module at hand, a user's file, the built-in texts.
#include <algorithm>

#include "tapeless/optim/builtin.h"
#include "tapeless/optim/parse_optimizer.h"
#include "tapeless/text/parse.h"

namespace tapeless::optim {

namespace {

OptimizerDef from_file(const std::string& path, const Loc& loc) {
  Module module = parse_file(path);
  if (module.optimizers.empty()) compile_error(loc, "{} holds no optimizer", path);
  return parse_optimizer(module.optimizers.back());
}

OptimizerDef from_builtin(const EmbeddedText& embedded) {
  auto source = std::make_shared<SourceText>();
  source->name = std::string(embedded.name) + ".tir";
  source->text = embedded.text;
  Module module = parse(source);
  TL_CHECK(module.optimizers.size() == 1, "built-in optimizer {}", embedded.name);
  return parse_optimizer(module.optimizers[0]);
}

}  // namespace

std::vector<std::string> builtin_optimizers() {
  std::vector<std::string> names;
  for (const EmbeddedText& text : builtin()) names.emplace_back(text.name);
  return names;
}

OptimizerDef find_optimizer(const std::string& name, const Module* module, const Loc& loc) {
  std::vector<std::string> known = builtin_optimizers();
  if (module != nullptr) {
    for (const OptimizerText& text : module->optimizers) {
      if (text.name == name) return parse_optimizer(text);
      known.push_back(text.name);
    }
  }
  if (name.ends_with(".tir")) return from_file(name, loc);
  for (const EmbeddedText& text : builtin())
    if (name == text.name) return from_builtin(text);
  std::string near = nearest(name, known);
  compile_error(loc, "no optimizer `{}`{}", name,
                near.empty() ? ": give the path of a .tir file or one of the built-in names"
                             : ", did you mean `" + near + "`?");
}

}  // namespace tapeless::optim
