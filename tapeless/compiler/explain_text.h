#pragma once

#include <string>

#include "tapeless/compiler/program.h"
#include "tapeless/ir/op_def.h"

// What the makers of explain's texts share.
namespace tapeless::explaining {

std::string bytes_str(int64_t bytes);
int64_t type_bytes(const Type& type, const SymbolValues& sizes);
/// ` at B = 64, T = 128`, or nothing.
std::string sizes_str(const SymbolValues& sizes);
/// `%h`, or for a value without a name the step that makes it first.
std::string storage_name(const EntryPoint& entry, const Storage& storage);

}  // namespace tapeless::explaining
