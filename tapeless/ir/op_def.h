#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "tapeless/ir/module.h"

namespace tapeless {

class Builder;
class Vjp;            // ops/vjp.h
class ReferenceCall;  // ops/reference.h
class ModeForm;       // ops/mode_form.h
struct Lowering;      // ops/lowering.h
struct OpChecks;      // ops/checks.h

/// One attribute of an op. A default of monostate means that it must be given (or, with
/// `optional`, that it may be absent).
struct AttrDef {
  std::string_view name;
  AttrKind kind;
  std::variant<std::monostate, bool, int64_t, double, std::string_view> fallback = {};
  bool optional = false;
  std::string_view doc = {};
};

/// What a result type is computed from.
struct TypeQuery {
  std::string_view op;
  std::span<const Type> operands;
  const AttrMap& attrs;
  const Module* module;  // for ops that name functions; may be null
  const Loc& loc;

  const Type& operand(int i) const { return operands[static_cast<size_t>(i)]; }
  int count() const { return static_cast<int>(operands.size()); }
  template <class T>
  const T& attr(std::string_view name) const {
    return std::get<T>(attrs.find(name)->second);
  }
  bool has(std::string_view name) const { return attrs.find(name) != attrs.end(); }
  /// A CompileError at the op: `[matmul] ` and the message.
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    compile_error(loc, "[{}] {}", op, fmt::format(format, std::forward<Args>(args)...));
  }
};

/// An op rewritten as simpler ops: builds them and returns the values that replace its results.
using Expansion = std::vector<Value*> (*)(Builder& b, const Op& op,
                                          std::span<Value* const> operands);

/// A rewrite of simplify/: the replacement of `op`'s results, or empty where it does not apply.
/// Operands are read through `op` (their defining ops are simplified already).
using RewriteRule = std::vector<Value*> (*)(Builder& b, const Op& op);

/// A sample for the generated tests: operand types and attributes in text form, one combination.
/// `operands = "f32[3, 4], f32[4]"`, `attrs = "axis = 1"`. Float operands are drawn uniformly from
/// [low, high], integer ones from [0, integers). Gradients are checked with f32 read as f64.
struct OpCase {
  std::string_view operands;
  std::string_view attrs = {};
  double low = -2;
  double high = 2;
  int64_t integers = 4;
  /// Said where the case cannot be differenced numerically (kinks on purpose): its gradient is
  /// then checked by a text test instead.
  bool skip_gradient = false;
};

using VjpRule = void (*)(Vjp& v);
/// The op has no gradient, and asking for one is an error that names it.
void kNoGradient(Vjp& v);
/// The op's results do not depend differentiably on its operands (comparisons, argmax): no
/// cotangent flows, silently.
void kZeroGradient(Vjp& v);

/// Everything about an op, in pipeline order. One constinit object a op, in ops/<op>.cpp.
struct OpDef {
  std::string_view name;
  std::string_view doc;
  std::span<const AttrDef> attrs = {};
  int min_operands = 0;
  int max_operands = 0;  // -1: any number
  /// The stages at which the op may stand.
  Stage legal_from = Stage::kSource;
  Stage legal_until = Stage::kPlanned;
  /// Forms by mode for an op that differs; null for one that does not.
  void (*train)(ModeForm& form) = nullptr;
  void (*infer)(ModeForm& form) = nullptr;
  std::vector<Type> (*result_type)(const TypeQuery& q) = nullptr;
  /// What data must be like beyond their types, such as indices that lie within their axis.
  /// Checked before the op's reference runs, and before the first step of compiled code.
  void (*checks)(const Op& op, OpChecks& into) = nullptr;
  void (*reference)(ReferenceCall& call) = nullptr;
  /// Null only where `expand` is given: then the expansion is differentiated.
  VjpRule vjp = nullptr;
  /// The op as simpler ops; used before fusion by ops that have no lowering of their own.
  Expansion expand = nullptr;
  std::span<const RewriteRule> rules = {};
  const Lowering* lower = nullptr;
  std::span<const OpCase> cases = {};

  bool differs_by_mode() const { return train != nullptr || infer != nullptr; }
  const AttrDef* find_attr(std::string_view attr) const;
};

}  // namespace tapeless
