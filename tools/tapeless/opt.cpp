// `tapeless opt`: IR in, passes by name, IR out. What text tests call.
#include <fmt/core.h>

#include "commands.h"
#include "tapeless/compiler/passes.h"
#include "tapeless/compiler/pipeline.h"
#include "tapeless/ir/print.h"
#include "tapeless/text/parse.h"

namespace tapeless {

namespace {

struct OptArguments {
  std::string file;
  std::string passes;
  bool print_after_all = false;
  bool split = false;
};

void opt_range(const OptArguments& arguments, const std::shared_ptr<const SourceText>& source,
               size_t begin, size_t end) {
  auto print_after = [&](std::string_view pass, const Module& after) {
    if (arguments.print_after_all) fmt::print("// after {}\n{}\n", pass, print(after));
  };
  Module module = run_passes(parse(source, begin, end), arguments.passes, print_after);
  if (!arguments.print_after_all) fmt::print("{}", print(module));
}

// Each part between separators on its own: a mistake is printed in its place, and the next part
// follows.
void opt_parts(const OptArguments& arguments, const std::shared_ptr<const SourceText>& source) {
  constexpr std::string_view kSeparator = "\n// -----\n";
  int failed = 0;
  for (size_t begin = 0; begin != std::string::npos;) {
    size_t end = source->text.find(kSeparator, begin);
    try {
      opt_range(arguments, source, begin, end);
    } catch (const CompileError& e) {
      fmt::print("{}\n", e.what());
      ++failed;
    }
    begin = end == std::string::npos ? end : end + kSeparator.size();
    if (begin != std::string::npos) fmt::print("{}", kSeparator.substr(1));
  }
  if (failed > 0) data_error("{} parts of {} are wrong", failed, source->name);
}

void opt(const OptArguments& arguments) {
  auto source = read_source(arguments.file);
  arguments.split ? opt_parts(arguments, source)
                  : opt_range(arguments, source, 0, std::string::npos);
}

std::string passes_help() {
  std::string out = "Passes:\n";
  for (const Pass& pass : all_passes()) {
    out += fmt::format("  {:<18} {}\n", pass.name, pass.doc);
    for (const AttrDef& option : pass.options)
      out += fmt::format("  {:<18}   {}: {}\n", "", option.name, option.doc);
  }
  return out + "Example: tapeless opt net.tir --passes 'differentiate{function = f, wrt = [w]}'";
}

}  // namespace

void add_opt(CLI::App& app) {
  auto arguments = std::make_shared<OptArguments>();
  CLI::App* command = app.add_subcommand("opt", "Read IR, run passes, print IR");
  command->add_option("FILE", arguments->file, "a .tir file; - is the standard input")->required();
  command->add_option("--passes", arguments->passes, "a{option = value},b,c: run in this order");
  command->add_flag("--print-after-all", arguments->print_after_all, "print after every pass");
  command->add_flag("--split", arguments->split, "treat parts between `// -----` as files");
  command->footer(passes_help());
  command->callback([arguments] { opt(*arguments); });
}

}  // namespace tapeless
