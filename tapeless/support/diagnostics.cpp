// Rendering of locations and diagnostics, and the nearest-word hint.
#include "tapeless/support/diagnostics.h"

#include <algorithm>
#include <numeric>

namespace tapeless {

namespace {

std::string line_of(const std::string& text, int line) {
  size_t begin = 0;
  for (int i = 1; i < line && begin != std::string::npos; ++i) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos || begin >= text.size()) return {};
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string all;
  for (const Diagnostic& d : diagnostics) all += (all.empty() ? "" : "\n") + d.str();
  return all;
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

Loc Loc::here(std::source_location at) {
  std::string file = at.file_name();
  auto source = std::make_shared<SourceText>(SourceText{std::move(file), {}});
  return {std::move(source), static_cast<int>(at.line()), 0, {}};
}

Loc Loc::derived(std::string why) const {
  Loc loc = *this;
  loc.reason = loc.reason.empty() ? std::move(why) : why + " " + loc.reason;
  return loc;
}

std::string Loc::str() const {
  std::string place = source ? source->name : "<unknown>";
  if (line > 0) place += fmt::format(":{}", line);
  if (column > 0) place += fmt::format(":{}", column);
  return reason.empty() ? place : reason + " " + place;
}

std::string Diagnostic::str() const {
  std::string out = fmt::format("{}: error: {}", loc.str(), message);
  if (!loc.source || loc.line <= 0) return out;
  std::string line = line_of(loc.source->text, loc.line);
  if (line.empty()) return out;
  out += "\n  " + line;
  if (loc.column > 0) {
    std::string pad = line.substr(0, static_cast<size_t>(loc.column - 1));
    for (char& c : pad) c = c == '\t' ? '\t' : ' ';
    out += "\n  " + pad + "^";
  }
  return out;
}

CompileError::CompileError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(join(diagnostics)), diagnostics_(std::move(diagnostics)) {}

void throw_compile_error(Loc loc, std::string message) {
  throw CompileError({{std::move(loc), std::move(message)}});
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  // Short words must keep at least a letter.
  size_t best_distance = std::min(std::max<size_t>(2, word.size() / 3) + 1, word.size());
  for (const std::string& candidate : candidates) {
    size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace tapeless
