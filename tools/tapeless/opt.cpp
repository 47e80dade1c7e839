// `tapeless opt`: IR in, passes by name, IR out. What text tests call.
#include <fmt/core.h>

#include "commands.h"
#include "tapeless/compiler/passes.h"
#include "tapeless/ir/print.h"
#include "tapeless/text/parse.h"

namespace tapeless {

namespace {

struct OptArguments {
  std::string file;
  std::string passes;
  bool print_after_all = false;
};

void opt(const OptArguments& arguments) {
  Module module = parse_file(arguments.file);
  module = run_passes(std::move(module), arguments.passes,
                      [&](std::string_view pass, const Module& after) {
                        if (arguments.print_after_all)
                          fmt::print("// after {}\n{}\n", pass, print(after));
                      });
  if (!arguments.print_after_all) fmt::print("{}", print(module));
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
  command->footer(passes_help());
  command->callback([arguments] { opt(*arguments); });
}

}  // namespace tapeless
