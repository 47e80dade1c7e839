// The parser of optimizers. Statements begin with `%name`, `if`, `repeat` or `return`, so line ends
// mean nothing. Operators become calls of their ops: `a * b` is mul(a, b).
#include "tapeless/optim/parse_optimizer.h"

#include <array>
#include <charconv>

#include "tapeless/text/lexer.h"

namespace tapeless::optim {

namespace {

constexpr int kMaxDepth = 200;

class Parser {
 public:
  explicit Parser(const OptimizerText& text) : t_(text.source, text.begin, text.end) {}

  OptimizerDef run() {
    t_.expect("optimizer");
    const Token& name = t_.expect(TokenKind::kFunction, "the optimizer's `@name`");
    def_.name = name.text;
    def_.loc = t_.loc(name);
    def_.loc.source = t_.source();
    hypers();
    t_.expect("{");
    while (!t_.at("update") && !t_.at("}")) declaration(def_.states, true);
    if (!t_.at("update")) t_.unexpected("`update(%w, %g) {...}`");
    update();
    t_.expect("}");
    if (!t_.at(TokenKind::kEnd)) t_.unexpected("the end of the optimizer");
    return std::move(def_);
  }

 private:
  // --- declarations

  void hypers() {
    t_.expect("(");
    while (!t_.at(")")) {
      HyperSyntax hyper = named_value("a hyperparameter");
      if (def_.find_hyper(hyper.name) != nullptr)
        compile_error(hyper.loc, "hyperparameter `{}` is declared twice", hyper.name);
      def_.hypers.push_back(std::move(hyper));
      if (!t_.accept(",")) break;
    }
    t_.expect(")");
  }

  HyperSyntax named_value(const char* what) {
    HyperSyntax out;
    out.loc = t_.loc();
    out.name = t_.expect(TokenKind::kWord, what).text;
    if (t_.accept("=")) out.value = expression();
    return out;
  }

  void declaration(StateBlock& into, bool outermost) {
    if (t_.at("state")) return states(into);
    if (t_.at("if")) return conditional_states(into);
    if (outermost && t_.at("option")) return options();
    if (outermost && t_.at("require")) return requirements();
    t_.unexpected(outermost ? "`state`, `option`, `require`, `if` or `update`" : "`state` or `if`");
  }

  void options() {
    t_.next();
    do {
      HyperSyntax option = named_value("an option");
      if (!option.value) t_.unexpected("`=` and the option's default");
      if (def_.find_option(option.name) != nullptr || def_.find_hyper(option.name) != nullptr)
        compile_error(option.loc, "`{}` is declared twice", option.name);
      def_.options.push_back(std::move(option));
    } while (t_.accept(","));
  }

  void conditional_states(StateBlock& into) {
    t_.next();
    StateBlock block;
    block.condition = expression();
    state_block(block.body.emplace_back());
    if (t_.accept("else")) {
      if (t_.at("if"))
        conditional_states(block.otherwise.emplace_back());
      else
        state_block(block.otherwise.emplace_back());
    }
    into.body.push_back(std::move(block));
  }

  void state_block(StateBlock& into) {
    t_.expect("{");
    while (!t_.at("}")) declaration(into, false);
    t_.expect("}");
  }

  void states(StateBlock& into) {
    t_.next();
    do {
      StateSyntax state;
      state.loc = t_.loc();
      state.name = t_.expect(TokenKind::kWord, "the name of a state").text;
      if (t_.accept(":")) {
        if (t_.at(TokenKind::kWord)) state.dtype = t_.next().text;
        state.own_shape = true;
        state.shape = sizes();
      }
      t_.expect("=");
      initial_value(state);
      into.states.push_back(std::move(state));
    } while (t_.accept(","));
  }

  void initial_value(StateSyntax& state) {
    state.initial.loc = t_.loc();
    if (t_.accept("zeros")) return;
    if (t_.accept("ones")) {
      state.initial.number = 1;
    } else if (t_.at("w") && !t_.peek(1).is("[")) {
      t_.next();
      state.copies_weight = true;
    } else {
      state.initial = expression();
    }
  }

  // `low <= name < high`, `name > low`, `low <= name`.
  void requirements() {
    t_.next();
    do {
      RequireSyntax require;
      require.loc = t_.loc();
      std::optional<double> left;
      if (!t_.at(TokenKind::kWord)) {
        left = number();
        bound(require.range, *left, reversed(comparison()));
      }
      require.hyper = t_.expect(TokenKind::kWord, "a hyperparameter").text;
      if (def_.find_hyper(require.hyper) == nullptr)
        compile_error(require.loc, "no hyperparameter `{}`", require.hyper);
      if (!left || at_comparison()) {
        std::string op = comparison();
        bound(require.range, number(), op);
      }
      def_.requirements.push_back(std::move(require));
    } while (t_.accept(","));
  }

  static std::string reversed(std::string op) {
    op[0] = op[0] == '<' ? '>' : '<';
    return op;
  }

  static void bound(Range& range, double value, const std::string& op) {
    (op[0] == '<' ? range.high : range.low) = value;
    (op[0] == '<' ? range.high_open : range.low_open) = op.size() == 1;
  }

  bool at_comparison() const { return t_.at("<") || t_.at("<=") || t_.at(">"); }

  std::string comparison() {
    if (!at_comparison()) t_.unexpected("`<`, `<=`, `>` or `>=`");
    std::string op = t_.next().text;
    if (op == ">" && t_.accept("=")) op = ">=";
    return op;
  }

  double number() {
    bool negative = t_.accept("-");
    double value = number_of(t_.expect(TokenKind::kNumber, "a number"));
    return negative ? -value : value;
  }

  static double number_of(const Token& token) {
    double value = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    return value;
  }

  // --- the update

  void update() {
    t_.next();
    t_.expect("(");
    def_.weight = t_.expect(TokenKind::kValue, "the weight, `%w`").text;
    t_.expect(",");
    def_.gradient = t_.expect(TokenKind::kValue, "the gradient, `%g`").text;
    while (t_.accept(",")) {
      const Token& token = t_.expect(TokenKind::kValue, "a state");
      if (token.text == "step") continue;
      if (!declares(def_.states, token.text))
        compile_error(t_.loc(token), "no state `{}` is declared", token.text);
      def_.updated.push_back(token.text);
    }
    t_.expect(")");
    def_.body = block();
  }

  static bool declares(const StateBlock& block, const std::string& name) {
    for (const StateSyntax& s : block.states)
      if (s.name == name) return true;
    for (const auto* inner : {&block.body, &block.otherwise})
      for (const StateBlock& b : *inner)
        if (declares(b, name)) return true;
    return false;
  }

  std::vector<Stmt> block() {
    t_.expect("{");
    std::vector<Stmt> out;
    while (!t_.at("}")) out.push_back(statement());
    t_.expect("}");
    return out;
  }

  Stmt statement() {
    Nested nested(*this);
    Stmt out;
    out.loc = t_.loc();
    if (t_.at(TokenKind::kValue)) {
      do {
        out.targets.push_back(t_.expect(TokenKind::kValue, "a value").text);
      } while (t_.accept(","));
      t_.expect("=");
      out.values.push_back(at_op() ? op_statement() : expression());
    } else if (t_.accept("if")) {
      out.kind = Stmt::Kind::kIf;
      out.values.push_back(expression());
      out.body = block();
      if (t_.accept("else")) {
        if (t_.at("if"))
          out.otherwise.push_back(statement());
        else
          out.otherwise = block();
      }
    } else if (t_.accept("repeat")) {
      out.kind = Stmt::Kind::kRepeat;
      out.values.push_back(expression());
      out.body = block();
    } else if (t_.accept("return")) {
      out.kind = Stmt::Kind::kReturn;
      do {
        out.values.push_back(expression());
      } while (t_.accept(","));
    } else {
      t_.unexpected("a statement: `%x = ...`, `if`, `repeat` or `return`");
    }
    return out;
  }

  // `mul %x, 2.0 {k = v}`: an op in the form of function bodies.
  bool at_op() const {
    if (!t_.at(TokenKind::kWord)) return false;
    const Token& after = t_.peek(1);
    return after.kind == TokenKind::kValue || after.kind == TokenKind::kNumber ||
           (after.is("{") && t_.peek(2).kind == TokenKind::kWord);
  }

  Expr op_statement() {
    Expr out = call(t_.loc(), t_.peek().text);
    t_.next();
    if (!t_.at("{")) {
      do {
        out.args.push_back(unary());
      } while (t_.accept(","));
    }
    if (t_.accept("{")) {
      do {
        out.attrs.push_back(attribute());
      } while (t_.accept(","));
      t_.expect("}");
    }
    return out;
  }

  // --- expressions, by precedence: or, and, not, comparisons, + -, * /, -x, ^

  static Expr call(Loc loc, std::string op, std::vector<Expr> args = {}) {
    Expr out;
    out.kind = Expr::Kind::kCall;
    out.loc = std::move(loc);
    out.text = std::move(op);
    out.args = std::move(args);
    return out;
  }

  static Expr binary(Loc loc, std::string op, Expr left, Expr right) {
    std::vector<Expr> args;
    args.push_back(std::move(left));
    args.push_back(std::move(right));
    return call(std::move(loc), std::move(op), std::move(args));
  }

  Expr expression() {
    Nested nested(*this);
    Expr left = conjunction();
    while (t_.at("or")) {
      Loc loc = next_loc();
      left = binary(loc, "logical_or", std::move(left), conjunction());
    }
    return left;
  }

  Expr conjunction() {
    Expr left = negation();
    while (t_.at("and")) {
      Loc loc = next_loc();
      left = binary(loc, "logical_and", std::move(left), negation());
    }
    return left;
  }

  Expr negation() {
    if (!t_.at("not")) return comparison_expr();
    Nested nested(*this);
    Loc loc = next_loc();
    std::vector<Expr> args;
    args.push_back(negation());
    return call(loc, "logical_not", std::move(args));
  }

  // The op of a comparison at the current token, with the number of its tokens.
  std::pair<std::string, int> comparison_op() const {
    bool equals = t_.peek(1).is("=") && t_.peek(1).begin == t_.peek().end;
    if (t_.at("<=")) return {"le", 1};
    if (t_.at("<")) return {"lt", 1};
    if (t_.at(">")) return equals ? std::pair("ge", 2) : std::pair("gt", 1);
    if (t_.at("=") && equals) return {"eq", 2};
    if (t_.at("!") && equals) return {"ne", 2};
    return {"", 0};
  }

  Expr comparison_expr() {
    Expr left = sum();
    auto [op, tokens] = comparison_op();
    if (tokens == 0) return left;
    Loc loc = t_.loc();
    for (int i = 0; i < tokens; ++i) t_.next();
    return binary(loc, op, std::move(left), sum());
  }

  Expr sum() {
    Expr left = product();
    while (t_.at("+") || t_.at("-")) {
      std::string op = t_.at("+") ? "add" : "sub";
      Loc loc = next_loc();
      left = binary(loc, op, std::move(left), product());
    }
    return left;
  }

  Expr product() {
    Expr left = unary();
    while (t_.at("*") || t_.at("/")) {
      std::string op = t_.at("*") ? "mul" : "div";
      Loc loc = next_loc();
      left = binary(loc, op, std::move(left), unary());
    }
    return left;
  }

  Expr unary() {
    if (!t_.at("-")) return power();
    Nested nested(*this);
    Loc loc = next_loc();
    std::vector<Expr> args;
    args.push_back(unary());
    return call(loc, "neg", std::move(args));
  }

  Expr power() {
    Expr base = primary();
    if (!t_.at("^")) return base;
    Nested nested(*this);
    Loc loc = next_loc();
    return binary(loc, "pow", std::move(base), unary());
  }

  Expr primary() {
    Expr out;
    out.loc = t_.loc();
    if (t_.accept("(")) {
      out = expression();
      t_.expect(")");
    } else if (t_.at(TokenKind::kNumber)) {
      out.number = number_of(t_.next());
    } else if (t_.at(TokenKind::kValue)) {
      out.kind = Expr::Kind::kLocal;
      out.text = t_.next().text;
    } else if (t_.at(TokenKind::kWord) && t_.peek(1).is("(")) {
      out = call_expression();
    } else if (t_.at("w") && t_.peek(1).is("[")) {
      out.kind = Expr::Kind::kWeightDim;
      t_.next();
      t_.next();
      out.args.push_back(expression());
      t_.expect("]");
    } else if (t_.at(TokenKind::kWord)) {
      out.kind = Expr::Kind::kWord;
      out.text = t_.next().text;
    } else {
      t_.unexpected("an expression");
    }
    return out;
  }

  // `sum(%x, axes = [1:], keepdims = true)`: operands, then attributes.
  Expr call_expression() {
    Expr out = call(t_.loc(), t_.peek().text);
    t_.next();
    t_.next();
    while (!t_.at(")")) {
      bool named = t_.at(TokenKind::kWord) && t_.peek(1).is("=") && !t_.peek(2).is("=");
      if (named)
        out.attrs.push_back(attribute());
      else if (!out.attrs.empty())
        t_.unexpected("an attribute: operands come first");
      else
        out.args.push_back(expression());
      if (!t_.accept(",")) break;
    }
    t_.expect(")");
    return out;
  }

  AttrSyntax attribute() {
    AttrSyntax out;
    out.loc = t_.loc();
    out.name = t_.expect(TokenKind::kWord, "an attribute").text;
    t_.expect("=");
    if (t_.at("[")) {
      out.is_list = true;
      out.list = sizes();
    } else {
      out.value = std::make_shared<Expr>(expression());
    }
    return out;
  }

  // `[w[:-1], 1]`, `[1:]`.
  std::vector<SizeItem> sizes() {
    t_.expect("[");
    std::vector<SizeItem> out;
    while (!t_.at("]")) {
      bool of_weight = t_.at("w") && t_.peek(1).is("[") && slice_follows(2);
      if (of_weight) {
        t_.next();
        t_.next();
      }
      if (of_weight || slice_follows(0)) {
        out.push_back(slice());
        if (of_weight) t_.expect("]");
      } else {
        SizeItem item;
        item.loc = t_.loc();
        item.value = std::make_shared<Expr>(expression());
        out.push_back(std::move(item));
      }
      if (!t_.accept(",")) break;
    }
    t_.expect("]");
    return out;
  }

  bool slice_follows(size_t ahead) const {
    ahead += t_.peek(ahead).is("-") ? 1 : 0;
    ahead += t_.peek(ahead).kind == TokenKind::kNumber ? 1 : 0;
    return t_.peek(ahead).is(":");
  }

  SizeItem slice() {
    SizeItem item;
    item.loc = t_.loc();
    item.slice = true;
    if (!t_.at(":")) item.from = static_cast<int64_t>(number());
    t_.expect(":");
    if (!t_.at("]") && !t_.at(",")) item.to = static_cast<int64_t>(number());
    return item;
  }

  Loc next_loc() {
    Loc loc = t_.loc();
    t_.next();
    return loc;
  }

  // Deep nesting is refused before the stack ends.
  class Nested {
   public:
    explicit Nested(Parser& parser) : depth_(parser.depth_) {
      if (++depth_ > kMaxDepth) compile_error(parser.t_.loc(), "this is nested too deeply");
    }
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    int& depth_;
  };

  Tokens t_;
  OptimizerDef def_;
  int depth_ = 0;
};

const HyperSyntax* find_named(const std::vector<HyperSyntax>& list, const std::string& name) {
  for (const HyperSyntax& h : list)
    if (h.name == name) return &h;
  return nullptr;
}

}  // namespace

const HyperSyntax* OptimizerDef::find_hyper(const std::string& hyper) const {
  return find_named(hypers, hyper);
}

const HyperSyntax* OptimizerDef::find_option(const std::string& option) const {
  return find_named(options, option);
}

Range OptimizerDef::range(const std::string& hyper) const {
  Range out;
  for (const RequireSyntax& r : requirements) {
    if (r.hyper != hyper) continue;
    if (r.range.low > out.low) out.low = r.range.low, out.low_open = r.range.low_open;
    if (r.range.high < out.high) out.high = r.range.high, out.high_open = r.range.high_open;
  }
  return out;
}

OptimizerDef parse_optimizer(const OptimizerText& text) { return Parser(text).run(); }

}  // namespace tapeless::optim
