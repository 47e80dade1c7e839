// The command: subcommands, and what a mistake exits with. 2: the user's mistake, 1: anything else.
#include <fmt/core.h>

#include "commands.h"
#include "tapeless/support/check.h"
#include "tapeless/support/diagnostics.h"

namespace {

constexpr int kUserError = 2;
constexpr int kOtherError = 1;

int run(int argc, char** argv) {
  CLI::App app(
      "Tapeless: a training compiler. Models are differentiated at compile time and run "
      "as native code.");
  app.require_subcommand(1);
  tapeless::add_train(app);
  tapeless::add_eval(app);
  tapeless::add_predict(app);
  tapeless::add_bench(app);
  tapeless::add_opt(app);
  tapeless::add_run(app);
  tapeless::add_ops(app);
  tapeless::add_explain(app);
  tapeless::add_doctor(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kUserError;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tapeless::CompileError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return kUserError;
  } catch (const tapeless::DataError& e) {
    fmt::print(stderr, "tapeless: error: {}\n", e.what());
    return kUserError;
  } catch (const std::exception& e) {
    fmt::print(stderr, "tapeless: {}\n", e.what());
    return kOtherError;
  }
}
