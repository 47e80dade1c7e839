// Properties of the text form over all files of the test tree and all samples of ops: what parses
// prints stably, and no damaged text does worse than a CompileError.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "op_cases.h"
#include "tapeless/ir/print.h"
#include "tapeless/ops/ops.h"
#include "tapeless/text/parse.h"

namespace tapeless {
namespace {

std::shared_ptr<const SourceText> in_memory(const std::string& text) {
  return std::make_shared<SourceText>(SourceText{"text", text});
}

// All .tir files of the test tree and all samples of ops.
std::vector<std::shared_ptr<const SourceText>> sources() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TAPELESS_TEST_DIR))
    if (entry.path().extension() == ".tir") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::shared_ptr<const SourceText>> out;
  for (const std::string& path : paths) out.push_back(read_source(path));
  for (const OpDef* def : all_ops())
    for (const OpCase& spec : def->cases)
      out.push_back(in_memory(print(make_sample(*def, spec, Precision::kAsWritten).module)));
  return out;
}

// The printed text, or nothing where the text is wrong.
std::optional<std::string> parsed_and_printed(const std::shared_ptr<const SourceText>& source) {
  try {
    return print(parse(source));
  } catch (const CompileError&) {
    return std::nullopt;
  }
}

TEST(Parse, PrintingIsStable) {
  int parsed = 0;
  for (const auto& source : sources()) {
    auto once = parsed_and_printed(source);
    if (!once) continue;
    ++parsed;
    EXPECT_EQ(print(parse(in_memory(*once))), *once) << source->name;
  }
  EXPECT_GT(parsed, 0);
}

std::string damaged(std::string text, const std::string& donor, std::mt19937_64& generator) {
  auto below = [&](size_t n) { return static_cast<size_t>(generator() % std::max<size_t>(n, 1)); };
  constexpr std::string_view kCharacters = "%@(){}[],:=<>-+*/ \n\"0129.ex_#\x80";
  for (size_t edits = 1 + below(4); edits > 0; --edits) {
    size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text.erase(at, 1 + below(12));
        break;
      case 1:
        text.insert(at, 1, kCharacters[below(kCharacters.size())]);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(30)));
        break;
      case 3:
        text.insert(at, donor.substr(below(donor.size()), below(40)));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

// Only a CompileError may come out, and what still parses prints stably. The seed is printed.
TEST(Parse, DamagedTextsAreRefused) {
  constexpr int kRounds = 60;
  auto all = sources();
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    std::mt19937_64 generator(seed);
    for (const auto& source : all) {
      std::string text = damaged(source->text, all[generator() % all.size()]->text, generator);
      SCOPED_TRACE(fmt::format("seed {} of {}\n{}", seed, source->name, text));
      auto once = parsed_and_printed(in_memory(text));
      if (!once) continue;
      EXPECT_EQ(print(parse(in_memory(*once))), *once);
    }
  }
}

}  // namespace
}  // namespace tapeless
