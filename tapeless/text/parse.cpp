// A whole text: first the signatures of all functions, then the bodies, so that a function may call
// one that is written further down.
#include "tapeless/text/parse.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include "tapeless/ir/op_def.h"
#include "tapeless/ir/verify.h"
#include "tapeless/text/parser.h"

namespace tapeless {

namespace {

std::optional<Role> parse_role(const Token& token) {
  for (Role role : {Role::kInput, Role::kParam, Role::kState, Role::kKey, Role::kHyper})
    if (token.is(role_name(role))) return role;
  return std::nullopt;
}

class ModuleParser {
 public:
  ModuleParser(std::shared_ptr<const SourceText> source, size_t begin, size_t end)
      : t_(std::move(source), begin, end) {}

  Module run() {
    stage();
    while (!t_.at(TokenKind::kEnd)) item();
    for (const Pending& p : bodies_) body(p);
    for (const auto& [name, loc] : references_) module_.get(name, loc);
    verify(module_);
    return std::move(module_);
  }

 private:
  struct Pending {
    Function* function;
    Symbols symbols;
    size_t position;  // of the body's opening brace
  };

  void stage() {
    if (!t_.accept("stage")) return;
    const Token& token = t_.expect(TokenKind::kWord, "the name of a stage");
    for (Stage s : {Stage::kSource, Stage::kSpecialized, Stage::kDifferentiated, Stage::kStepped,
                    Stage::kSimplified, Stage::kFused, Stage::kPlanned})
      if (token.is(stage_name(s))) {
        module_.stage = s;
        return;
      }
    compile_error(t_.loc(token), "no stage {}", token.str());
  }

  void item() {
    if (t_.at("optimizer")) return optimizer();
    bool is_func = t_.at("func"), is_extern = t_.at("extern"), is_mode_op = t_.at("mode_op");
    if (!is_func && !is_extern && !is_mode_op)
      t_.unexpected("`func`, `extern`, `mode_op` or `optimizer`");
    t_.next();
    Pending pending = signature();
    if (is_extern) return external(*pending.function);
    if (is_mode_op) return forms(*pending.function);
    if (t_.accept("vjp")) pending.function->vjp = reference();
    pending.position = t_.position();
    t_.skip_braces();
    bodies_.push_back(std::move(pending));
  }

  void optimizer() {
    OptimizerText out;
    out.source = t_.source();
    out.begin = t_.peek().begin;
    t_.next();
    const Token& name = t_.expect(TokenKind::kFunction, "the optimizer's `@name`");
    out.name = name.text;
    out.loc = t_.loc(name);
    while (!t_.at("{") && !t_.at(TokenKind::kEnd)) t_.next();
    size_t open = t_.position();
    t_.skip_braces();
    size_t after = t_.position();
    t_.seek(std::max(open, after - 1));
    out.end = t_.peek().end;
    t_.seek(after);
    module_.optimizers.push_back(std::move(out));
  }

  Pending signature() {
    const Token& name = t_.expect(TokenKind::kFunction, "the function's `@name`");
    if (const Function* first = module_.find(name.text))
      compile_error(t_.loc(name), "function @{} is defined twice, first in line {}", name.text,
                    first->loc.line);
    Function* f = module_.add(name.text);
    f->loc = t_.loc(name);
    Pending pending{f, {}, 0};
    pending.symbols.open = true;
    pending.symbols.bounds = &f->bounds;
    params(*f, pending.symbols);
    pending.symbols.open = false;
    results(*f, pending.symbols);
    if (t_.accept("where")) where(pending.symbols);
    require_bound(*f, pending.symbols);
    pending.symbols.bounds = nullptr;
    return pending;
  }

  void params(Function& f, Symbols& symbols) {
    t_.expect("(");
    while (!t_.at(")")) {
      const Token& name = t_.expect(TokenKind::kValue, "a parameter");
      if (f.find_param(name.text) != nullptr)
        compile_error(t_.loc(name), "parameter %{} is given twice", name.text);
      t_.expect(":");
      Type type = TypeParser(t_, symbols).type();
      Role role = type.dtype == DType::kKey ? Role::kKey : Role::kInput;
      if (auto word = parse_role(t_.peek())) {
        role = *word;
        t_.next();
      }
      f.add_param(name.text, std::move(type), role);
      if (!t_.accept(",")) break;
    }
    t_.expect(")");
  }

  // `-> T` or `-> (T, name: T, %param: T)`.
  void results(Function& f, Symbols& symbols) {
    if (!t_.accept("->")) return;
    bool list = t_.accept("(");
    do {
      f.result_names.push_back(list ? result_name(f) : "");
      f.declared_results.push_back(TypeParser(t_, symbols).type());
    } while (list && t_.accept(","));
    if (list) t_.expect(")");
  }

  std::string result_name(const Function& f) {
    if (!t_.peek(1).is(":")) return "";
    const Token& token = t_.next();
    Loc loc = t_.loc(token);
    t_.expect(":");
    std::string name = token.text;
    if (token.kind == TokenKind::kValue) {
      if (f.find_param(name) == nullptr)
        compile_error(loc, "result %{} is the new value of a parameter, and there is none", name);
      name = "%" + name;
    } else if (token.kind != TokenKind::kWord) {
      compile_error(loc, "expected the name of a result, got {}", token.str());
    }
    for (const std::string& other : f.result_names)
      if (other == name) compile_error(loc, "result {} is given twice", token.str());
    return name;
  }

  void where(Symbols& symbols) {
    do {
      TypeParser parser(t_, symbols);
      if (!t_.at(TokenKind::kWord) || !t_.peek(1).is("<=")) t_.unexpected("a bound: `B <= 256`");
      parser.bounded_dim();
    } while (t_.accept(","));
  }

  // Every symbol must follow from the shapes of the arguments.
  void require_bound(const Function& f, const Symbols& symbols) {
    std::vector<Type> types = f.param_types();
    auto bound = bind_symbols(types, types);
    for (const auto& [symbol, dim] : symbols.known)
      if (bound.count(symbol) == 0)
        compile_error(f.loc, "symbol {} of @{} does not follow from the shapes of its arguments",
                      symbol, f.name);
  }

  std::string reference() {
    const Token& name = t_.expect(TokenKind::kFunction, "`@function`");
    references_.emplace_back(name.text, t_.loc(name));
    return name.text;
  }

  // `{symbol = "c_name", library = "x.so", pure = true, vjp = @g}`
  void external(Function& f) {
    External external;
    declaration([&](const Token& key) {
      if (key.is("symbol"))
        external.symbol = string(key);
      else if (key.is("library"))
        external.library = string(key);
      else if (key.is("pure"))
        external.pure = flag(key);
      else if (key.is("vjp"))
        f.vjp = reference();
      else
        compile_error(t_.loc(key), "an extern has symbol, library, pure and vjp, not {}",
                      key.str());
    });
    if (external.symbol.empty()) external.symbol = f.name;
    f.external = std::move(external);
  }

  // `{train = @a, infer = @b}`
  void forms(Function& f) {
    declaration([&](const Token& key) {
      if (key.is("train"))
        f.train_form = reference();
      else if (key.is("infer"))
        f.infer_form = reference();
      else
        compile_error(t_.loc(key), "a mode_op has train and infer, not {}", key.str());
    });
    if (!f.is_mode_op()) compile_error(f.loc, "mode_op @{} has no form at all", f.name);
  }

  template <class F>
  void declaration(F&& set) {
    std::set<std::string> seen;
    t_.expect("{");
    while (!t_.at("}")) {
      const Token& key = t_.expect(TokenKind::kWord, "a name");
      if (!seen.insert(key.text).second) compile_error(t_.loc(key), "{} is given twice", key.str());
      t_.expect("=");
      set(key);
      if (!t_.accept(",")) break;
    }
    t_.expect("}");
  }

  std::string string(const Token& key) {
    if (!t_.at(TokenKind::kString) && !t_.at(TokenKind::kWord))
      t_.unexpected("the string of " + key.str());
    return t_.next().text;
  }

  bool flag(const Token& key) {
    if (!t_.at("true") && !t_.at("false")) t_.unexpected("true or false for " + key.str());
    return t_.next().is("true");
  }

  void body(const Pending& pending) {
    Function& f = *pending.function;
    t_.seek(pending.position);
    Symbols symbols = pending.symbols;
    BodyParser::Values values;
    for (const auto& p : f.params) values[p->name] = p.get();
    Builder builder(f, &module_);
    BodyParser parser(t_, symbols, builder, std::move(values));
    std::vector<Value*> returned = parser.block();
    check_results(f, returned, parser.return_loc());
    f.results = std::move(returned);
    f.declared_results.clear();
  }

  void check_results(const Function& f, const std::vector<Value*>& returned, const Loc& loc) {
    if (returned.empty() && !f.declared_results.empty())
      compile_error(loc, "@{} must return {} values, got none", f.name, f.declared_results.size());
    if (returned.size() != f.declared_results.size())
      compile_error(loc, "@{} must return {} values, got {}", f.name, f.declared_results.size(),
                    returned.size());
    for (size_t i = 0; i < returned.size(); ++i)
      if (!(returned[i]->type == f.declared_results[i]))
        compile_error(loc, "result {} of @{} is declared {}, got {}", i, f.name,
                      f.declared_results[i].str(), returned[i]->type.str());
  }

  Tokens t_;
  Module module_;
  std::vector<Pending> bodies_;
  std::vector<std::pair<std::string, Loc>> references_;
};

}  // namespace

Module parse(std::shared_ptr<const SourceText> source, size_t begin, size_t end) {
  return ModuleParser(std::move(source), begin, end).run();
}

std::shared_ptr<const SourceText> read_source(const std::string& path) {
  std::stringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return std::make_shared<SourceText>(SourceText{"<stdin>", text.str()});
  }
  std::ifstream in(path, std::ios::binary);
  bool readable = in.is_open() && (in.peek(), !in.bad());
  if (!readable) data_error("cannot read {}", path);
  in.clear();
  text << in.rdbuf();
  return std::make_shared<SourceText>(SourceText{path, text.str()});
}

Module parse_file(const std::string& path) { return parse(read_source(path)); }

}  // namespace tapeless
