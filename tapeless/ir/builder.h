#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tapeless/ir/op_def.h"

namespace tapeless {

/// Appends ops to a function; result types are found as ops are made. Every op gets the current
/// location.
class Builder {
 public:
  /// `module` resolves the functions that calls name; may be null where there are none.
  explicit Builder(Function& function, const Module* module = nullptr)
      : function_(&function), module_(module) {}

  Function& function() const { return *function_; }
  const Module* module() const { return module_; }
  const Loc& loc() const { return loc_; }
  void set_loc(Loc loc) { loc_ = std::move(loc); }

  /// Makes an op. Missing attributes take their defaults; unknown ones, wrong kinds, a wrong
  /// number of operands and types that do not fit are CompileErrors at the current location.
  Op* make_op(const OpDef& def, std::vector<Value*> operands, AttrMap attrs = {});
  /// The same for an op with one result.
  Value* make(const OpDef& def, std::vector<Value*> operands, AttrMap attrs = {});

  /// Gives the value a name for printing, made unique by print; returns the value.
  static Value* named(Value* value, std::string name);

 private:
  Function* function_;
  const Module* module_;
  Loc loc_;
};

/// Fills in defaults and checks names and kinds; CompileErrors at `loc`. Public for the parser.
AttrMap complete_attrs(const OpDef& def, AttrMap attrs, const Loc& loc);

/// Result types of a call of `callee` with these argument types: symbols of the callee are bound by
/// its parameters' shapes. A CompileError at `loc` names the parameter that does not fit.
std::vector<Type> call_result_types(const Function& callee, std::span<const Type> arguments,
                                    const Loc& loc);
/// The sizes of the symbols in `patterns` (types of parameters) for these arguments, as far as the
/// shapes settle them. Ranks must agree; nothing else is checked.
std::map<std::string, Dim> bind_symbols(std::span<const Type> patterns,
                                        std::span<const Type> arguments);
/// Only the binding: callee symbol -> size in the caller.
std::map<std::string, Dim> bind_call_symbols(const Function& callee,
                                             std::span<const Type> arguments, const Loc& loc);
Type substitute(const Type& type, const std::map<std::string, Dim>& with);

}  // namespace tapeless
