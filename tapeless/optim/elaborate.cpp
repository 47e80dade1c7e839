// Names and expressions of optimizer bodies.
#include "tapeless/optim/elaborate.h"

#include <cmath>
#include <limits>
#include <optional>

#include "tapeless/ir/clone.h"
#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"

namespace tapeless::optim {

Term Term::constant(double number) {
  Term t;
  t.number = number;
  return t;
}

Term Term::of_word(std::string word) {
  Term t;
  t.kind = Kind::kWord;
  t.word = std::move(word);
  return t;
}

Term Term::hyper(Value* value) {
  Term t = of(value);
  t.kind = Kind::kHyper;
  return t;
}

Term Term::of(Value* value) {
  Term t;
  t.kind = Kind::kTensor;
  t.value = value;
  return t;
}

void remove_dead(Function& f) { remove_dead_ops(f); }

namespace {

double machine_epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return std::numeric_limits<double>::epsilon();
    case DType::kBF16:
      return std::ldexp(1.0, -7);
    case DType::kF16:
      return std::ldexp(1.0, -10);
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

Term as_term(const Setting& setting) {
  if (const auto* flag = std::get_if<bool>(&setting)) return Term::constant(*flag ? 1 : 0);
  if (const auto* number = std::get_if<double>(&setting)) return Term::constant(*number);
  return Term::of_word(std::get<std::string>(setting));
}

// Ops over numbers known now; empty where the op is not among them.
std::optional<double> fold(const std::string& op, double x) {
  if (op == "neg") return -x;
  if (op == "abs") return std::fabs(x);
  if (op == "sqrt") return std::sqrt(x);
  if (op == "exp") return std::exp(x);
  if (op == "log") return std::log(x);
  if (op == "floor") return std::floor(x);
  if (op == "logical_not") return x == 0;
  return std::nullopt;
}

std::optional<double> fold(const std::string& op, double x, double y) {
  if (op == "add") return x + y;
  if (op == "sub") return x - y;
  if (op == "mul") return x * y;
  if (op == "div") return x / y;
  if (op == "pow") return std::pow(x, y);
  if (op == "maximum") return std::fmax(x, y);
  if (op == "minimum") return std::fmin(x, y);
  if (op == "lt") return x < y;
  if (op == "le") return x <= y;
  if (op == "gt") return x > y;
  if (op == "ge") return x >= y;
  if (op == "eq") return x == y;
  if (op == "ne") return x != y;
  if (op == "logical_and") return x != 0 && y != 0;
  if (op == "logical_or") return x != 0 || y != 0;
  return std::nullopt;
}

std::optional<Term> fold(const std::string& op, const std::vector<Term>& args) {
  for (const Term& t : args)
    if (t.kind != Term::Kind::kNumber) return std::nullopt;
  std::optional<double> value;
  if (args.size() == 1) value = fold(op, args[0].number);
  if (args.size() == 2) value = fold(op, args[0].number, args[1].number);
  if (op == "where" && args.size() == 3)
    value = args[0].number != 0 ? args[1].number : args[2].number;
  return value ? std::optional<Term>(Term::constant(*value)) : std::nullopt;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known,
                         const char* sign = "") {
  std::string near = nearest(word, known);
  return near.empty() ? std::string() : fmt::format(", did you mean `{}{}`?", sign, near);
}

int64_t whole(double value, const Loc& loc) {
  if (value != std::floor(value) || std::fabs(value) > 1e15)
    compile_error(loc, "expected a whole number, got {}", real_str(value));
  return static_cast<int64_t>(value);
}

// Python's rule for `from:to` over `count` items.
std::pair<size_t, size_t> slice_bounds(const SizeItem& item, size_t count) {
  auto n = static_cast<int64_t>(count);
  auto clamp = [&](int64_t i) { return std::min(std::max(i < 0 ? i + n : i, int64_t{0}), n); };
  int64_t from = clamp(item.from.value_or(0)), to = clamp(item.to.value_or(n));
  return {static_cast<size_t>(from), static_cast<size_t>(std::max(from, to))};
}

}  // namespace

// --- names

void Names::resolve_options(Elaborator& e) {
  bind("true", Term::constant(1));
  bind("false", Term::constant(0));
  bind("rank", Term::constant(weight.rank()));
  bind("epsilon", Term::constant(machine_epsilon(weight.dtype)));
  for (const HyperSyntax& option : def.options) {
    auto found = settings_.find(option.name);
    if (found != settings_.end())
      bind(option.name, as_term(found->second));
    else if (option.value->kind == Expr::Kind::kWord && words_.count(option.value->text) == 0)
      bind(option.name, Term::of_word(option.value->text));
    else
      bind(option.name, Term::constant(e.decide_number(*option.value)));
  }
}

double Names::initial(const std::string& hyper, const Loc& loc) const {
  auto found = settings_.find(hyper);
  if (found != settings_.end()) {
    const auto* number = std::get_if<double>(&found->second);
    if (number == nullptr) compile_error(loc, "`{}` of @{} must be a number", hyper, def.name);
    return *number;
  }
  const HyperSyntax* h = def.find_hyper(hyper);
  TL_CHECK(h != nullptr, "hyper {}", hyper);
  if (!h->value) compile_error(loc, "optimizer @{} needs a value for `{}`", def.name, hyper);
  Function scratch(def.name);
  Builder builder(scratch);
  Names none(def, weight, settings_);
  return Elaborator(builder, none).decide_number(*h->value);
}

Term Names::word(const Expr& expr, bool deciding) const {
  if (deciding && def.find_hyper(expr.text) != nullptr)
    return Term::constant(initial(expr.text, expr.loc));
  if (expr.text == "size") {
    Dim size = numel(weight.shape);
    if (!size.is_constant()) compile_error(expr.loc, "the size {} is not known here", size.str());
    return Term::constant(static_cast<double>(size.constant()));
  }
  auto found = words_.find(expr.text);
  if (found != words_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, term] : words_) known.push_back(name);
  compile_error(expr.loc, "no hyperparameter or option `{}`{}", expr.text,
                did_you_mean(expr.text, known));
}

Term Names::local(const Expr& expr) const {
  if (expr.text == "step" && locals.count("step") == 0) return words_.at("step");
  auto found = locals.find(expr.text);
  if (found != locals.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, term] : locals) known.push_back(name);
  compile_error(expr.loc, "no value %{}{}", expr.text, did_you_mean(expr.text, known, "%"));
}

double Names::weight_dim(double axis, const Loc& loc) const {
  int64_t i = whole(axis, loc);
  if (i < 0) i += weight.rank();
  if (i < 0 || i >= weight.rank())
    compile_error(loc, "w[{}] is outside of the weight's shape {}", whole(axis, loc),
                  shape_str(weight.shape));
  const Dim& dim = weight.shape[static_cast<size_t>(i)];
  if (!dim.is_constant()) compile_error(loc, "the size {} is not known here", dim.str());
  return static_cast<double>(dim.constant());
}

// --- expressions

Loc Elaborator::loc_of(const Value* value, const Loc& fallback) const {
  return value->def != nullptr && value->def->loc.line > 0 ? value->def->loc : fallback;
}

Term Elaborator::decided(const Expr& expr) {
  bool before = deciding_;
  deciding_ = true;
  Term term = one(expr);
  deciding_ = before;
  return term;
}

double Elaborator::decide_number(const Expr& expr) {
  Term term = decided(expr);
  if (term.kind != Term::Kind::kNumber)
    compile_error(expr.loc, "this must be known when the optimizer is compiled");
  return term.number;
}

bool Elaborator::decide(const Expr& expr) { return decide_number(expr) != 0; }

Value* Elaborator::as_tensor(const Term& term, DType dtype) {
  switch (term.kind) {
    case Term::Kind::kNumber:
      return build::constant(b_, dtype, term.number);
    case Term::Kind::kHyper:
      // Of hypers alone: a comparison stays a bool.
      return term.value->type.dtype == DType::kBool ? term.value
                                                    : build::cast(b_, term.value, dtype);
    case Term::Kind::kTensor:
      return term.value;
    case Term::Kind::kWord:
      break;
  }
  compile_error(b_.loc(), "`{}` is no number", term.word);
}

Term Elaborator::one(const Expr& expr) {
  std::vector<Term> terms = all(expr);
  if (terms.size() != 1)
    compile_error(expr.loc, "`{}` gives {} values, one is wanted here", expr.text, terms.size());
  return terms[0];
}

std::vector<Term> Elaborator::all(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kNumber:
      return {Term::constant(expr.number)};
    case Expr::Kind::kWord:
      return {names_.word(expr, deciding_)};
    case Expr::Kind::kLocal:
      return {names_.local(expr)};
    case Expr::Kind::kWeightDim:
      return {Term::constant(names_.weight_dim(decide_number(expr.args[0]), expr.loc))};
    case Expr::Kind::kCall:
      return call(expr);
  }
  return {};
}

// `option == word`: the other side may be a word that names nothing.
std::optional<bool> compare_words(Elaborator& e, const Expr& expr) {
  if ((expr.text != "eq" && expr.text != "ne") || expr.args[1].kind != Expr::Kind::kWord)
    return std::nullopt;
  Term left = e.one(expr.args[0]);
  if (left.kind != Term::Kind::kWord) return std::nullopt;
  return (left.word == expr.args[1].text) == (expr.text == "eq");
}

std::vector<Term> Elaborator::call(const Expr& expr) {
  if (auto same = compare_words(*this, expr)) return {Term::constant(*same ? 1 : 0)};
  std::vector<Term> args;
  for (const Expr& a : expr.args) args.push_back(one(a));
  b_.set_loc(expr.loc);
  if (auto folded = fold(expr.text, args)) return {*folded};
  if (expr.text == "expand_dims") return {expand_dims(expr, args)};
  return op(expr, args);
}

// Operands of an op agree: numbers and hypers take the dtype of the first tensor of floats; without
// tensors all of it is an f64 scalar of hypers.
std::vector<Term> Elaborator::op(const Expr& expr, const std::vector<Term>& args) {
  const OpDef* def = find_op(expr.text);
  if (def == nullptr)
    compile_error(expr.loc, "unknown op `{}`{}", expr.text, did_you_mean(expr.text, op_names()));
  DType dtype = DType::kF64;
  bool any_tensor = false, any_float = false;
  for (const Term& t : args) {
    if (t.kind != Term::Kind::kTensor) continue;
    any_tensor = true;
    if (any_float || !is_float(t.value->type.dtype)) continue;
    any_float = true;
    dtype = t.value->type.dtype;
  }
  // Where only bools are tensors, numbers are of the weight's dtype.
  if (any_tensor && !any_float) dtype = names_.weight.dtype;
  AttrMap attrs = attributes(expr, *def, args);
  std::vector<Value*> operands;
  for (const Term& t : args) operands.push_back(as_tensor(t, dtype));
  b_.set_loc(expr.loc);
  // x^2 is x * x, exactly.
  bool square = expr.text == "pow" && args[1].kind == Term::Kind::kNumber && args[1].number == 2;
  Op* made = square ? b_.make_op(kMulOp, {operands[0], operands[0]})
                    : b_.make_op(*def, std::move(operands), std::move(attrs));
  std::vector<Term> out;
  for (const auto& r : made->results) {
    bool of_hypers = !any_tensor && r->type.is_scalar();
    out.push_back(of_hypers ? Term::hyper(r.get()) : Term::of(r.get()));
  }
  return out;
}

// Sizes of 1 put in so that they stand at `axes` of the result, which has the weight's rank.
Term Elaborator::expand_dims(const Expr& expr, const std::vector<Term>& args) {
  if (args.size() != 1 || args[0].kind != Term::Kind::kTensor || expr.attrs.size() != 1 ||
      expr.attrs[0].name != "axes")
    compile_error(expr.loc, "expand_dims takes a tensor and `axes`");
  const Shape& from = args[0].value->type.shape;
  Ints at = axes(expr.attrs[0], names_.weight.rank());
  Shape shape(from.size() + at.size());
  std::vector<bool> taken(shape.size());
  for (int64_t axis : at) {
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()) || taken[size_t(axis)])
      compile_error(expr.attrs[0].loc, "no new axis {} in a result of rank {}", axis, shape.size());
    taken[static_cast<size_t>(axis)] = true;
    shape[static_cast<size_t>(axis)] = 1;
  }
  size_t next = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!taken[i]) shape[i] = from[next++];
  return Term::of(build::reshape(b_, args[0].value, shape));
}

// --- attributes

AttrMap Elaborator::attributes(const Expr& expr, const OpDef& def, const std::vector<Term>& args) {
  int rank = names_.weight.rank();
  if (!args.empty() && args[0].kind == Term::Kind::kTensor) rank = args[0].value->type.rank();
  AttrMap out;
  for (const AttrSyntax& a : expr.attrs) {
    const AttrDef* wanted = def.find_attr(a.name);
    if (wanted == nullptr) {
      std::vector<std::string> known;
      for (const AttrDef& d : def.attrs) known.emplace_back(d.name);
      compile_error(a.loc, "[{}] no attribute `{}`{}", def.name, a.name,
                    did_you_mean(a.name, known));
    }
    out[a.name] = attribute(a, wanted->kind, rank);
  }
  return out;
}

Attr Elaborator::attribute(const AttrSyntax& syntax, AttrKind want, int rank) {
  if (syntax.is_list)
    return want == AttrKind::kShape ? Attr(shape(syntax.list)) : Attr(axes(syntax, rank));
  const Expr& value = *syntax.value;
  if (want == AttrKind::kDType && value.kind == Expr::Kind::kWord) {
    if (auto dtype = parse_dtype(value.text)) return *dtype;
    compile_error(value.loc, "no dtype `{}`", value.text);
  }
  if (want == AttrKind::kString && value.kind == Expr::Kind::kWord) return value.text;
  double number = decide_number(value);
  if (want == AttrKind::kBool) return number != 0;
  if (want == AttrKind::kInt) return whole(number, value.loc);
  return number;
}

Ints Elaborator::axes(const AttrSyntax& syntax, int rank) {
  if (!syntax.is_list) compile_error(syntax.loc, "`{}` is a list: `[0, 1]`", syntax.name);
  Ints out;
  for (const SizeItem& item : syntax.list) {
    if (!item.slice) {
      out.push_back(whole(decide_number(*item.value), item.loc));
      continue;
    }
    auto [from, to] = slice_bounds(item, static_cast<size_t>(rank));
    for (size_t i = from; i < to; ++i) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

Shape Elaborator::shape(const std::vector<SizeItem>& items) {
  const Shape& whole_shape = names_.weight.shape;
  Shape out;
  for (const SizeItem& item : items) {
    if (!item.slice) {
      // A size of the weight may be symbolic; an expression must be a number.
      const Expr& value = *item.value;
      bool lone_dim = value.kind == Expr::Kind::kWeightDim;
      int64_t axis = lone_dim ? whole(decide_number(value.args[0]), value.loc) : 0;
      if (axis < 0) axis += static_cast<int64_t>(whole_shape.size());
      bool inside = axis >= 0 && axis < static_cast<int64_t>(whole_shape.size());
      out.push_back(lone_dim && inside ? whole_shape[static_cast<size_t>(axis)]
                                       : Dim(whole(decide_number(value), item.loc)));
      continue;
    }
    auto [from, to] = slice_bounds(item, whole_shape.size());
    out.insert(out.end(), whole_shape.begin() + static_cast<std::ptrdiff_t>(from),
               whole_shape.begin() + static_cast<std::ptrdiff_t>(to));
  }
  return out;
}

}  // namespace tapeless::optim
