// Elaborates an optimizer for one weight: names get values, conditions are decided, operators
// become ops.
//   update(%w, %g) { %w = %w - lr * (1 - beta^step) * %g }        for %k: f32[3, 4]
// gives
//   func @mine(%w: f32[3, 4] param, %g: f32[3, 4] input, %lr: f64[] hyper, ...) {
//     %0 = pow %beta, %step      // hypers alone stay f64 scalars,
//     ...
//     %3 = cast %2 {to = f32}    // rounded once, where they meet a tensor
//     %4 = mul %3, %g
//
// A term is one of: a number known now; a word; an f64 scalar of hypers alone; a tensor.
#include "tapeless/optim/instantiate.h"

#include <cmath>
#include <limits>

#include "tapeless/ops/build.h"
#include "tapeless/optim/elaborate.h"

namespace tapeless::optim {

namespace {

constexpr int64_t kMaxRepeats = 1000;
constexpr int kMaxStatements = 100'000;

Value* add_hyper(Function& f, const std::string& name) {
  return f.add_param(name, Type(DType::kF64, {}), Role::kHyper);
}

class Instantiation {
 public:
  Instantiation(const OptimizerDef& def, const Type& weight, const Settings& settings,
                const std::set<std::string>& fixed)
      : def_(def),
        weight_(weight),
        function_(std::make_unique<Function>(def.name)),
        builder_(*function_),
        names_(def, weight, settings),
        e_(builder_, names_) {
    function_->loc = def.loc;
    builder_.set_loc(def.loc);
    names_.resolve_options(e_);
    declare(fixed);
  }

  Instance run() {
    bool returned = block(def_.body);
    if (!returned) collect_results();
    finish();
    return std::move(out_);
  }

 private:
  void declare(const std::set<std::string>& fixed) {
    locals()[def_.weight] = Term::of(function_->add_param(def_.weight, weight_, Role::kParam));
    locals()[def_.gradient] = Term::of(function_->add_param(def_.gradient, weight_, Role::kInput));
    states(def_.states);
    for (const HyperSyntax& h : def_.hypers) {
      if (fixed.count(h.name) != 0)
        names_.bind(h.name, Term::constant(names_.initial(h.name, h.loc)));
      else
        names_.bind(h.name, Term::hyper(add_hyper(*function_, h.name)));
    }
    names_.bind("step", Term::hyper(add_hyper(*function_, "step")));
  }

  std::map<std::string, Term>& locals() { return names_.locals; }

  void states(const StateBlock& block) {
    for (const StateSyntax& s : block.states) state(s);
    for (const StateBlock& b : block.body) {
      if (!b.condition) {
        states(b);
        continue;
      }
      const auto& taken = e_.decide(*b.condition) ? b.body : b.otherwise;
      for (const StateBlock& inner : taken) states(as_unconditional(inner));
    }
  }

  // An `else if` is a conditional block itself: it is decided in turn.
  static StateBlock as_unconditional(const StateBlock& block) {
    if (!block.condition) return block;
    StateBlock wrapper;
    wrapper.body.push_back(block);
    return wrapper;
  }

  void state(const StateSyntax& syntax) {
    if (locals().count(syntax.name) != 0)
      compile_error(syntax.loc, "state `{}` is declared twice", syntax.name);
    Type type = weight_;
    if (!syntax.dtype.empty()) {
      auto dtype = parse_dtype(syntax.dtype);
      if (!dtype || !is_float(*dtype))
        compile_error(syntax.loc, "state `{}` must be of floats, got `{}`", syntax.name,
                      syntax.dtype);
      type.dtype = *dtype;
    }
    if (syntax.own_shape) type.shape = e_.shape(syntax.shape);
    StateSpec spec{syntax.name, type, 0, syntax.copies_weight};
    if (syntax.copies_weight && !(type == weight_))
      compile_error(syntax.loc, "state `{}` starts as the weight and must have its type",
                    syntax.name);
    if (!syntax.copies_weight) spec.fill = e_.decide_number(syntax.initial);
    out_.states.push_back(spec);
    locals()[syntax.name] = Term::of(function_->add_param(syntax.name, type, Role::kState));
  }

  // True where the block returned.
  bool block(const std::vector<Stmt>& statements) {
    for (const Stmt& s : statements) {
      if (++statements_ > kMaxStatements)
        compile_error(s.loc, "the update runs more than {} statements", kMaxStatements);
      if (statement(s)) return true;
    }
    return false;
  }

  bool statement(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::kAssign:
        assign(s);
        return false;
      case Stmt::Kind::kIf:
        return block(e_.decide(s.values[0]) ? s.body : s.otherwise);
      case Stmt::Kind::kRepeat:
        return repeat(s);
      case Stmt::Kind::kReturn:
        return_values(s);
        return true;
    }
    return false;
  }

  bool repeat(const Stmt& s) {
    double count = e_.decide_number(s.values[0]);
    if (!(count >= 0 && count <= kMaxRepeats) || count != std::floor(count))
      compile_error(s.values[0].loc, "repeat takes a whole number from 0 to {}, got {}",
                    kMaxRepeats, real_str(count));
    for (int i = 0; i < static_cast<int>(count); ++i)
      if (block(s.body)) return true;
    return false;
  }

  void assign(const Stmt& s) {
    std::vector<Term> terms = e_.all(s.values[0]);
    if (terms.size() != s.targets.size())
      compile_error(s.loc, "{} values are named, the expression gives {}", s.targets.size(),
                    terms.size());
    for (size_t i = 0; i < terms.size(); ++i) {
      if (terms[i].kind == Term::Kind::kTensor && terms[i].value->def != nullptr &&
          terms[i].value->name.empty())
        terms[i].value->name = s.targets[i];
      locals()[s.targets[i]] = terms[i];
    }
  }

  void collect_results() {
    result(def_.weight, weight_, locals()[def_.weight], def_.loc);
    for (const StateSpec& s : out_.states) result(s.name, s.type, locals()[s.name], def_.loc);
  }

  // `return` gives the weight, then the states in the order of the header.
  void return_values(const Stmt& s) {
    std::vector<std::string> order = def_.updated;
    if (s.values.size() != order.size() + 1)
      compile_error(s.loc, "return must give %{} and the {} states of the header, got {} values",
                    def_.weight, order.size(), s.values.size());
    locals()[def_.weight] = e_.one(s.values[0]);
    for (size_t i = 0; i < order.size(); ++i) {
      for (const StateSpec& spec : out_.states)
        if (spec.name == order[i]) locals()[order[i]] = e_.one(s.values[i + 1]);
    }
    collect_results();
  }

  void result(const std::string& name, const Type& type, const Term& term, const Loc& loc) {
    builder_.set_loc(loc);
    Value* value = e_.as_tensor(term, type.dtype);
    if (value->type.is_scalar() && !type.is_scalar() && term.kind != Term::Kind::kTensor)
      value = build::broadcast_to(builder_, value, type.shape);
    if (!(value->type == type))
      compile_error(e_.loc_of(value, loc), "the new %{} is {}, it must stay {}", name,
                    value->type.str(), type.str());
    function_->add_result(value, "%" + name);
  }

  // Unread hypers leave the signature: nobody has to supply them.
  void finish() {
    remove_dead(*function_);
    std::set<const Value*> read(function_->results.begin(), function_->results.end());
    for (const auto& op : function_->body) read.insert(op->operands.begin(), op->operands.end());
    std::vector<std::unique_ptr<Value>> params;
    std::vector<Role> roles;
    for (size_t i = 0; i < function_->params.size(); ++i) {
      auto& p = function_->params[i];
      bool is_hyper = function_->roles[i] == Role::kHyper;
      if (is_hyper && read.count(p.get()) == 0) continue;
      if (is_hyper) out_.hypers.push_back(p->name);
      p->index = static_cast<int>(params.size());
      params.push_back(std::move(p));
      roles.push_back(function_->roles[i]);
    }
    function_->params = std::move(params);
    function_->roles = std::move(roles);
    out_.update = std::move(function_);
  }

  const OptimizerDef& def_;
  const Type& weight_;
  std::unique_ptr<Function> function_;
  Builder builder_;
  Names names_;
  Elaborator e_;
  Instance out_;
  int statements_ = 0;
};

std::vector<std::string> setting_names(const OptimizerDef& def) {
  std::vector<std::string> names;
  for (const HyperSyntax& h : def.hypers) names.push_back(h.name);
  for (const HyperSyntax& o : def.options) names.push_back(o.name);
  return names;
}

std::string range_str(const std::string& name, const Range& r) {
  std::string low = std::isinf(r.low) ? "" : real_str(r.low) + (r.low_open ? " < " : " <= ");
  std::string high = std::isinf(r.high) ? "" : (r.high_open ? " < " : " <= ") + real_str(r.high);
  return low + name + high;
}

}  // namespace

Instance instantiate(const OptimizerDef& def, const Type& weight, const std::string& weight_name,
                     const Settings& settings, const std::set<std::string>& fixed) {
  try {
    return Instantiation(def, weight, settings, fixed).run();
  } catch (const CompileError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& d : diagnostics)
      d.message += fmt::format(" (optimizer @{} for %{}: {})", def.name, weight_name, weight.str());
    throw CompileError(std::move(diagnostics));
  }
}

std::map<std::string, double> hyper_values(const OptimizerDef& def, const Settings& settings,
                                           const Loc& loc) {
  for (const auto& [name, value] : settings) {
    if (def.find_hyper(name) != nullptr || def.find_option(name) != nullptr) continue;
    std::string near = nearest(name, setting_names(def));
    compile_error(loc, "optimizer @{} has no `{}`{}", def.name, name,
                  near.empty() ? std::string() : ", did you mean `" + near + "`?");
  }
  Function scratch(def.name);
  Builder builder(scratch);
  Type scalar(DType::kF32, {});
  Names names(def, scalar, settings);
  std::map<std::string, double> values;
  for (const HyperSyntax& h : def.hypers) {
    double value = names.initial(h.name, loc);
    if (!std::isfinite(value) || !def.range(h.name).contains(value))
      compile_error(loc, "optimizer @{} needs {}, got {} = {}", def.name,
                    range_str("finite " + h.name, def.range(h.name)), h.name, real_str(value));
    values[h.name] = value;
  }
  return values;
}

}  // namespace tapeless::optim
