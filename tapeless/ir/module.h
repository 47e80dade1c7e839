#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapeless/ir/attribute.h"
#include "tapeless/ir/type.h"
#include "tapeless/support/diagnostics.h"

namespace tapeless {

struct OpDef;
class Op;
class Function;
class Module;

/// What a parameter of a function is for.
enum class Role : uint8_t { kInput, kParam, kState, kKey, kHyper };
std::string_view role_name(Role role);

/// How a function runs an op that differs between training and inference.
enum class Mode : uint8_t { kTrain, kInfer };
std::string_view mode_name(Mode mode);

/// How far a module has come. The verifier rejects an op that is not legal at its stage.
enum class Stage : uint8_t {
  kSource,
  kSpecialized,
  kDifferentiated,
  kStepped,
  kSimplified,
  kFused,
  kPlanned
};
std::string_view stage_name(Stage stage);

/// One SSA value: a parameter of a function or a result of an op. Its address is its identity.
struct Value {
  Type type;
  std::string name;   // without %, unique within the function once printed; may be empty
  Op* def = nullptr;  // null for a parameter
  int index = 0;      // which parameter or which result
};

/// One operation: a definition from ops.def, operands, attributes, results and a location.
class Op {
 public:
  Op(const OpDef& def, std::vector<Value*> operands, AttrMap attrs, Loc loc)
      : operands(std::move(operands)), attrs(std::move(attrs)), loc(std::move(loc)), def_(&def) {}

  const OpDef& def() const { return *def_; }
  bool is(const OpDef& def) const { return def_ == &def; }
  std::string_view name() const;

  Value* operand(int i) const { return operands[static_cast<size_t>(i)]; }
  const Type& operand_type(int i) const { return operand(i)->type; }
  Value* result(int i = 0) const { return results[static_cast<size_t>(i)].get(); }
  const Type& result_type(int i = 0) const { return result(i)->type; }

  bool has(std::string_view attr) const { return attrs.find(attr) != attrs.end(); }
  /// The attribute, checked to be there and of type T.
  template <class T>
  const T& attr(std::string_view name) const {
    auto found = attrs.find(name);
    TL_CHECK(found != attrs.end() && std::holds_alternative<T>(found->second),
             "attribute {} of op {}", name, this->name());
    return std::get<T>(found->second);
  }
  bool flag(std::string_view name) const { return attr<bool>(name); }
  int64_t integer(std::string_view name) const { return attr<int64_t>(name); }
  double real(std::string_view name) const { return attr<double>(name); }
  const std::string& text(std::string_view name) const { return attr<std::string>(name); }
  const Ints& ints(std::string_view name) const { return attr<Ints>(name); }
  const Shape& dims(std::string_view name) const { return attr<Shape>(name); }

  std::vector<Value*> operands;
  AttrMap attrs;
  std::vector<std::unique_ptr<Value>> results;
  Loc loc;

 private:
  const OpDef* def_;
};

/// What a function with no body names: C code that the user brings.
struct External {
  std::string symbol;
  std::string library;  // path of a shared object; empty: registered by pointer
  bool pure = true;
};

/// A straight sequence of ops over parameters, with named results.
class Function {
 public:
  explicit Function(std::string name) : name(std::move(name)) {}

  Value* add_param(std::string name, Type type, Role role);
  Value* param(int i) const { return params[static_cast<size_t>(i)].get(); }
  int param_count() const { return static_cast<int>(params.size()); }
  Value* find_param(std::string_view name) const;
  void add_result(Value* value, std::string name = {});
  Value* result(int i) const { return results[static_cast<size_t>(i)]; }
  std::optional<int64_t> bound(const std::string& symbol) const;
  std::vector<Type> param_types() const;
  std::vector<Type> result_types() const;

  std::string name;
  Loc loc;
  std::vector<std::unique_ptr<Value>> params;
  std::vector<Role> roles;
  std::vector<std::unique_ptr<Op>> body;
  std::vector<Value*> results;
  std::vector<std::string> result_names;
  /// Upper bounds of symbols: `B<=256`. A symbol without an entry is unbounded.
  std::map<std::string, int64_t> bounds;
  /// Result types of a function with no body (external or chosen by mode), or whose body is not
  /// there yet.
  std::vector<Type> declared_results;
  std::optional<External> external;
  /// The user's own rule: a function (operands, results, cotangents) -> cotangents of operands.
  std::string vjp;
  /// Where this function only chooses by mode: the function for each mode (empty: no such form).
  std::optional<std::string> train_form, infer_form;
  bool is_mode_op() const { return train_form.has_value() || infer_form.has_value(); }
  bool has_body() const { return !external && !is_mode_op(); }
};

/// An optimizer as written: kept as text and instantiated for each weight (see optim/).
struct OptimizerText {
  std::string name;
  std::shared_ptr<const SourceText> source;
  size_t begin = 0, end = 0;  // the range of the whole `optimizer` block in the source
  Loc loc;
};

class Module {
 public:
  Stage stage = Stage::kSource;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<OptimizerText> optimizers;

  Function* find(std::string_view name) const;
  /// The function, or a CompileError at `loc` that names the nearest one there is.
  Function* get(std::string_view name, const Loc& loc = {}) const;
  Function* add(std::string name);
  /// `base`, or `base_2`, `base_3`: the first that is free.
  std::string fresh_name(const std::string& base) const;
  void erase(std::string_view name);
};

}  // namespace tapeless
