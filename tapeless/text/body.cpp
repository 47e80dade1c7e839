// Bodies of functions: one op a statement, values by name.
#include "tapeless/ops/ops.h"
#include "tapeless/text/parser.h"

namespace tapeless {

std::vector<Value*> BodyParser::block() {
  t_.expect("{");
  std::vector<Value*> values;
  while (!t_.at("}")) {
    if (t_.at("return")) {
      return_loc_ = t_.loc();
      t_.next();
      values = returned();
      if (!t_.at("}")) t_.unexpected("`}` after return");
      break;
    }
    statement();
  }
  if (return_loc_.line == 0) return_loc_ = t_.loc();
  t_.expect("}");
  return values;
}

// `return %a, %b` or `return op ...`: all results of the op.
std::vector<Value*> BodyParser::returned() {
  std::vector<Value*> values;
  if (t_.at(TokenKind::kWord) && !at_operand()) {
    for (const auto& r : op()->results) values.push_back(r.get());
    return values;
  }
  if (t_.at("}")) return values;
  do {
    values.push_back(lookup(t_.expect(TokenKind::kValue, "a value")));
  } while (t_.accept(","));
  return values;
}

void BodyParser::statement() {
  std::vector<Token> names;
  if (t_.at(TokenKind::kValue)) {
    do {
      names.push_back(t_.expect(TokenKind::kValue, "the name of a result"));
    } while (t_.accept(","));
    t_.expect("=");
  }
  if (!t_.at(TokenKind::kWord)) t_.unexpected("an op");
  Loc loc = t_.loc();
  Op* made = op();
  if (made->results.size() != names.size() && !(names.empty() && made->results.size() == 1))
    compile_error(loc, "[{}] gives {} results, named are {}", made->name(), made->results.size(),
                  names.size());
  for (size_t i = 0; i < names.size(); ++i) define(names[i], made->results[i].get());
}

Op* BodyParser::op() {
  Token name = t_.next();
  Loc loc = t_.loc(name);
  const OpDef* def = find_op(name.text);
  if (def == nullptr) {
    std::string near = nearest(name.text, op_names());
    compile_error(loc, "unknown op `{}`{}", name.text,
                  near.empty() ? std::string() : ", did you mean `" + near + "`?");
  }
  b_.set_loc(loc);
  std::optional<std::string> callee;
  if (t_.at(TokenKind::kFunction)) {
    if (def->find_attr("callee") == nullptr) t_.unexpected("operands: this op takes no function");
    callee = t_.next().text;
  }
  // Operands start on the line of the op; behind a comma they may go on below.
  bool has_operands = at_operand() && t_.peek().line == name.line;
  std::vector<Value*> values = has_operands ? operands() : std::vector<Value*>();
  AttrMap given = t_.at("{") ? attrs(def) : AttrMap();
  if (callee) given["callee"] = FunctionRef{*callee};
  b_.set_loc(std::move(loc));
  return b_.make_op(*def, std::move(values), std::move(given));
}

bool BodyParser::at_operand() const { return t_.at(TokenKind::kValue) || at_number(); }

BodyParser::Operand BodyParser::operand() {
  Loc loc = t_.loc();
  if (at_number()) return {nullptr, number(), std::move(loc)};
  return {lookup(t_.expect(TokenKind::kValue, "an operand")), {}, std::move(loc)};
}

std::vector<Value*> BodyParser::operands() {
  std::vector<Operand> list;
  do {
    list.push_back(operand());
  } while (t_.accept(","));
  // The first tensor that is no condition: `where %c, %x, 0.0`.
  const Value* typed = nullptr;
  for (const Operand& o : list) {
    bool better = typed == nullptr || typed->type.dtype == DType::kBool;
    if (o.value != nullptr && better) typed = o.value;
  }
  std::vector<Value*> values;
  for (const Operand& o : list) {
    if (o.value == nullptr && typed == nullptr)
      compile_error(o.loc, "a number takes the dtype of a tensor operand, and there is none");
    values.push_back(o.value != nullptr ? o.value : literal(o, typed->type.dtype));
  }
  return values;
}

Value* BodyParser::literal(const Operand& operand, DType dtype) {
  Tensor value(dtype, {});
  const auto* integer = std::get_if<int64_t>(&operand.number);
  if (dtype == DType::kKey || dtype == DType::kBool || (integer == nullptr && !is_float(dtype)))
    compile_error(operand.loc, "{} is no {}", attr_str(operand.number), dtype_name(dtype));
  if (integer == nullptr)
    value.set(0, std::get<double>(operand.number));
  else if (is_float(dtype))
    value.set(0, static_cast<double>(*integer));
  else
    value.set_int(0, *integer);
  return b_.make(kConstantOp, {}, {{"value", value}});
}

void BodyParser::define(const Token& name, Value* value) {
  if (!values_.emplace(name.text, value).second)
    compile_error(t_.loc(name), "%{} is defined twice", name.text);
  value->name = name.text;
}

Value* BodyParser::lookup(const Token& name) const {
  auto found = values_.find(name.text);
  if (found == values_.end()) report_unknown(name);
  return found->second;
}

// A later `%x =` or `%x, %y =` in this body makes it a use before definition.
void BodyParser::report_unknown(const Token& name) const {
  int depth = 0;
  for (size_t i = 0; depth >= 0 && t_.peek(i).kind != TokenKind::kEnd; ++i) {
    const Token& token = t_.peek(i);
    depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
    if (token.kind != TokenKind::kValue || token.text != name.text) continue;
    size_t j = i + 1;
    while (t_.peek(j).is(",") && t_.peek(j + 1).kind == TokenKind::kValue) j += 2;
    if (t_.peek(j).is("="))
      compile_error(t_.loc(name), "%{} is used before its definition in line {}", name.text,
                    token.line);
  }
  std::vector<std::string> names;
  for (const auto& [known, value] : values_) names.push_back(known);
  std::string near = nearest(name.text, names);
  compile_error(t_.loc(name), "no value %{}{}", name.text,
                near.empty() ? std::string() : ", did you mean %" + near + "?");
}

}  // namespace tapeless
