#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tapeless/support/diagnostics.h"

/// An optimizer as written: docs/optimizers.md is the grammar. Names and types are settled when it
/// is instantiated for a weight.
namespace tapeless::optim {

struct Expr;

/// A size: `3`, `w[0]`, any static expression; or a part of the weight's shape, `w[:-1]`.
struct SizeItem {
  Loc loc;
  bool slice = false;
  std::optional<int64_t> from, to;    // of a slice
  std::shared_ptr<const Expr> value;  // of a lone size or number
};

/// `name = value` of a call: a list, or an expression whose meaning follows from the attribute.
struct AttrSyntax {
  Loc loc;
  std::string name;
  bool is_list = false;
  std::vector<SizeItem> list;
  std::shared_ptr<const Expr> value;
};

struct Expr {
  enum class Kind : uint8_t {
    kNumber,
    kWord,       // a hyper, an option, `step`, `rank`, `size`, `epsilon`, `true`, `false`
    kLocal,      // %name
    kWeightDim,  // w[args[0]]
    kCall        // an op; operators are calls of their ops
  };
  Kind kind = Kind::kNumber;
  Loc loc;
  double number = 0;
  std::string text;
  std::vector<Expr> args;
  std::vector<AttrSyntax> attrs;
};

struct Stmt {
  enum class Kind : uint8_t { kAssign, kIf, kRepeat, kReturn };
  Kind kind = Kind::kAssign;
  Loc loc;
  std::vector<std::string> targets;  // of an assignment
  std::vector<Expr> values;          // assigned; the condition; the count; what is returned
  std::vector<Stmt> body, otherwise;
};

/// `state m: f32[w[0]] = zeros`
struct StateSyntax {
  Loc loc;
  std::string name;
  std::string dtype;  // empty: the weight's
  bool own_shape = false;
  std::vector<SizeItem> shape;
  bool copies_weight = false;
  Expr initial;
};

/// States, some of them under a condition.
struct StateBlock {
  std::optional<Expr> condition;
  std::vector<StateSyntax> states;
  std::vector<StateBlock> body, otherwise;
};

struct HyperSyntax {
  Loc loc;
  std::string name;
  std::optional<Expr> value;
};

/// `0 <= beta < 1`: what a hyper must lie in.
struct Range {
  double low = -1.0 / 0.0, high = 1.0 / 0.0;
  bool low_open = false, high_open = false;
  bool contains(double value) const {
    return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
  }
};

struct RequireSyntax {
  Loc loc;
  std::string hyper;
  Range range;
};

struct OptimizerDef {
  std::string name;
  Loc loc;
  std::vector<HyperSyntax> hypers;
  std::vector<HyperSyntax> options;
  std::vector<RequireSyntax> requirements;
  StateBlock states;
  std::string weight, gradient;      // their names in the body
  std::vector<std::string> updated;  // states in the order of the update's header
  std::vector<Stmt> body;

  const HyperSyntax* find_hyper(const std::string& hyper) const;
  const HyperSyntax* find_option(const std::string& option) const;
  Range range(const std::string& hyper) const;
};

}  // namespace tapeless::optim
