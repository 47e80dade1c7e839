#pragma once

#include <CLI/CLI.hpp>

// One function a subcommand, each in the file of its name: adds it to the command line.
namespace tapeless {

void add_bench(CLI::App& app);
void add_doctor(CLI::App& app);
void add_eval(CLI::App& app);
void add_explain(CLI::App& app);
void add_ops(CLI::App& app);
void add_opt(CLI::App& app);
void add_predict(CLI::App& app);
void add_run(CLI::App& app);
void add_train(CLI::App& app);

}  // namespace tapeless
