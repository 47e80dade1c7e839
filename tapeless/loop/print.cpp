// Text of loop IR. An expression node used twice in one statement is written once, as `$0=(...)`,
// and afterwards `$0`, so that the text of a shared tree stays linear in its nodes.
#include "tapeless/loop/print.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace tapeless::loop {
namespace {

const char* infix(Prim op) {
  switch (op) {
    case Prim::kAdd:
      return "+";
    case Prim::kSub:
      return "-";
    case Prim::kMul:
      return "*";
    case Prim::kDiv:
      return "/";
    case Prim::kFloorDiv:
      return "//";
    case Prim::kFloorMod:
      return "%";
    case Prim::kEq:
      return "==";
    case Prim::kNe:
      return "!=";
    case Prim::kLt:
      return "<";
    case Prim::kLe:
      return "<=";
    case Prim::kGt:
      return ">";
    case Prim::kGe:
      return ">=";
    case Prim::kAnd:
      return "&";
    case Prim::kOr:
      return "|";
    case Prim::kXor:
      return "^";
    case Prim::kShl:
      return "<<";
    case Prim::kShr:
      return ">>";
    default:
      return nullptr;
  }
}

std::string type_text(Type t) {
  if (t.lanes == 1) return elem_name(t.elem);
  return fmt::format("{}x{}", elem_name(t.elem), t.lanes);
}

class Printer {
 public:
  explicit Printer(bool canonical) : canonical_(canonical) {}

  std::string kernel(const Kernel& k);
  void stmt(const Stmt& s);
  std::string expr(const Expr& e);  // one tree, its shared nodes numbered from 0
  std::string take() { return std::move(out_); }

 private:
  const std::string& name_of(const void* identity, const std::string& wanted);
  void count(const Expr& e);
  std::string visit(const Expr& e);
  std::string body_text(const Expr& e);
  std::string call(const char* callee, const std::vector<Expr>& args);
  std::vector<std::string> texts(const std::vector<Expr>& roots);
  void line(const std::string& text) { out_ += std::string(2 * depth_, ' ') + text + "\n"; }
  void nested(const Stmt& s) {
    ++depth_;
    stmt(s);
    --depth_;
  }
  void store(const StmtNode& n);

  bool canonical_;
  int depth_ = 0;
  std::string out_;
  std::map<const void*, std::string> names_;
  std::set<std::string> used_;
  std::map<const ExprNode*, int> uses_;     // within the statement at hand
  std::map<const ExprNode*, int> numbers_;  // of shared nodes already written
};

const std::string& Printer::name_of(const void* identity, const std::string& wanted) {
  auto [it, inserted] = names_.try_emplace(identity);
  if (!inserted) return it->second;
  if (canonical_) return it->second = fmt::format("v{}", names_.size() - 1);
  std::string name = wanted;
  for (int i = 1; !used_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return it->second = name;
}

void Printer::count(const Expr& e) {
  if (e->args.empty() || ++uses_[e.get()] > 1) return;
  for (const Expr& a : e->args) count(a);
}

std::vector<std::string> Printer::texts(const std::vector<Expr>& roots) {
  uses_.clear();
  numbers_.clear();
  for (const Expr& e : roots) count(e);
  std::vector<std::string> result;
  for (const Expr& e : roots) result.push_back(visit(e));
  return result;
}

std::string Printer::expr(const Expr& e) { return texts({e})[0]; }

std::string Printer::visit(const Expr& e) {
  const auto use = uses_.find(e.get());
  if (use == uses_.end() || use->second < 2) return body_text(e);
  if (const auto it = numbers_.find(e.get()); it != numbers_.end()) {
    return fmt::format("${}", it->second);
  }
  std::string text = body_text(e);
  const int number = static_cast<int>(numbers_.size());
  numbers_[e.get()] = number;
  return fmt::format("${}={}", number, text);
}

std::string Printer::call(const char* callee, const std::vector<Expr>& args) {
  std::string text = fmt::format("{}(", callee);
  for (size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "") + visit(args[i]);
  return text + ")";
}

std::string Printer::body_text(const Expr& e) {
  switch (e->kind) {
    case ExprKind::kConst:
      if (e->type.elem == Elem::kBool) return e->int_value ? "true" : "false";
      if (is_float(e->type.elem)) {
        return fmt::format("{}{}", e->float_value, e->type.elem == Elem::kF64 ? "d" : "f");
      }
      if (e->type.elem == Elem::kI64) return fmt::format("{}", e->int_value);
      return fmt::format("{}{}", e->int_value, elem_name(e->type.elem));
    case ExprKind::kVar:
      return name_of(e.get(), e->name);
    case ExprKind::kPrim:
      if (const char* symbol = infix(e->op)) {
        std::string left = visit(e->args[0]);
        return fmt::format("({} {} {})", left, symbol, visit(e->args[1]));
      }
      return call(prim_name(e->op), e->args);
    case ExprKind::kCast:
      return call(type_text(e->type).c_str(), e->args);
    case ExprKind::kBitcast:
      return call(("bits_" + type_text(e->type)).c_str(), e->args);
    case ExprKind::kLoad: {
      std::string text = name_of(e->buffer.get(), e->buffer->name);
      text += "[" + visit(e->args[0]) + "]";
      if (e->args.size() > 1) text += " if " + visit(e->args[1]);
      return e->args.size() > 1 ? "(" + text + ")" : text;
    }
    case ExprKind::kRamp:
      return call(fmt::format("ramp{}", e->type.lanes).c_str(), e->args);
    case ExprKind::kBroadcast:
      return call(fmt::format("x{}", e->type.lanes).c_str(), e->args);
    case ExprKind::kReduce:
      return call((std::string("reduce_") + prim_name(e->op)).c_str(), e->args);
    case ExprKind::kLoadLocal:
      break;
  }
  const std::string name = name_of(e->local.get(), e->local->name);
  return fmt::format("{}[{}]", name, visit(e->args[0]));
}

void Printer::store(const StmtNode& n) {
  const bool to_local = n.kind == StmtKind::kStoreLocal;
  const std::string name =
      to_local ? name_of(n.local.get(), n.local->name) : name_of(n.buffer.get(), n.buffer->name);
  const auto t = texts(n.args);
  line(fmt::format("{}[{}] = {}{}", name, t[0], t[1], t.size() > 2 ? " if " + t[2] : ""));
}

void Printer::stmt(const Stmt& s) {
  const StmtNode& n = *s;
  switch (n.kind) {
    case StmtKind::kBlock:
      for (const Stmt& child : n.body) stmt(child);
      return;
    case StmtKind::kFor: {
      const auto t = texts(n.args);
      const bool unit = as_int(n.args[2]).value_or(0) == 1;
      line(fmt::format("{} {} in {}..{}{} {{",
                       n.for_kind == ForKind::kUnrolled ? "unrolled" : "for",
                       name_of(n.var.get(), n.var->name), t[0], t[1], unit ? "" : " step " + t[2]));
      nested(n.body[0]);
      return line("}");
    }
    case StmtKind::kIf:
      line(fmt::format("if {} {{", texts(n.args)[0]));
      nested(n.body[0]);
      if (n.body.size() > 1) {
        line("} else {");
        nested(n.body[1]);
      }
      return line("}");
    case StmtKind::kLet: {
      const auto t = texts(n.args);
      line(fmt::format("{}: {} = {}", name_of(n.var.get(), n.var->name), type_text(n.var->type),
                       t[0]));
      return stmt(n.body[0]);
    }
    case StmtKind::kLocal:
      line(fmt::format("local {}: {}[{}]", name_of(n.local.get(), n.local->name),
                       type_text(n.local->type), n.local->count));
      return stmt(n.body[0]);
    case StmtKind::kStore:
    case StmtKind::kStoreLocal:
      return store(n);
    case StmtKind::kPrefetch: {
      const auto t = texts(n.args);
      return line(fmt::format("prefetch {}[{}]", name_of(n.buffer.get(), n.buffer->name), t[0]));
    }
  }
}

std::string Printer::kernel(const Kernel& k) {
  static constexpr const char* kAccess[] = {"read", "write", "readwrite", "scratch"};
  std::string head = fmt::format("kernel {}(", canonical_ ? "" : k.name);
  for (const Expr& s : k.sizes) name_of(s.get(), s->name);
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const BufferDecl& b = *k.buffers[i];
    head += fmt::format("{}{} {}: {}", i ? ", " : "", kAccess[static_cast<int>(b.access)],
                        name_of(&b, b.name), elem_name(b.elem));
    if (b.offset) head += " at " + expr(b.offset);
  }
  head += ") sizes(";
  for (size_t i = 0; i < k.sizes.size(); ++i) {
    head += (i ? ", " : "") + name_of(k.sizes[i].get(), k.sizes[i]->name);
  }
  head += ")";
  if (k.scratch_bytes && !canonical_) head += " scratch(" + expr(k.scratch_bytes) + ")";
  if (k.task) head += " task " + name_of(k.task.get(), k.task->name);
  if (k.tasks && !canonical_) head += " in 0.." + expr(k.tasks);
  line(head + " {");
  nested(k.body);
  line("}");
  return take();
}

}  // namespace

std::string print(const Kernel& kernel) { return Printer(false).kernel(kernel); }

std::string print(const Stmt& stmt) {
  Printer printer(false);
  printer.stmt(stmt);
  return printer.take();
}

std::string print(const Expr& expr) { return Printer(false).expr(expr); }

std::string canonical_text(const Kernel& kernel) { return Printer(true).kernel(kernel); }

}  // namespace tapeless::loop
