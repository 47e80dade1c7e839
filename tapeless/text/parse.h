#pragma once

#include <memory>
#include <string>

#include "tapeless/ir/module.h"

namespace tapeless {

/// Reads the text form (docs/ir.md) and verifies it. A CompileError points at the first mistake.
/// `print(parse(text))` is stable: parsing and printing it again gives the same bytes.
/// `begin` and `end` choose a range of the source; locations stay those of the whole.
Module parse(std::shared_ptr<const SourceText> source, size_t begin = 0,
             size_t end = std::string::npos);
/// The same from a file; a DataError where it cannot be read.
Module parse_file(const std::string& path);

/// A file as a text to point into; `-` is the standard input.
std::shared_ptr<const SourceText> read_source(const std::string& path);

}  // namespace tapeless
