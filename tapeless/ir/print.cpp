// The printer. Names are assigned in order of definition: a value's own name where it is free,
// else with the first free suffix; values without a name are numbered. A function prints as
//   func @f(%x: f32[B<=256, 4] input) -> f32[B] {
//     %y = sum %x {axes = [1]}
//     return %y
//   }
#include "tapeless/ir/print.h"

#include <set>
#include <unordered_map>

#include "tapeless/ir/op_def.h"

namespace tapeless {

namespace {

// A default that the parser will fill in again need not be printed.
bool is_default(const AttrDef& def, const Attr& attr) {
  if (const auto* b = std::get_if<bool>(&def.fallback)) return same_attr(*b, attr);
  if (const auto* i = std::get_if<int64_t>(&def.fallback)) return same_attr(*i, attr);
  if (const auto* d = std::get_if<double>(&def.fallback)) return same_attr(*d, attr);
  if (const auto* s = std::get_if<std::string_view>(&def.fallback))
    return same_attr(std::string(*s), attr);
  return false;
}

class Printer {
 public:
  explicit Printer(const Function& f) : f_(f) {
    for (const auto& p : f.params) assign(p.get());
    for (const auto& op : f.body)
      for (const auto& r : op->results) assign(r.get());
  }

  std::string function() {
    std::string out = f_.external ? "extern" : f_.is_mode_op() ? "mode_op" : "func";
    out += " @" + f_.name + "(";
    for (int i = 0; i < f_.param_count(); ++i) {
      if (i > 0) out += ", ";
      const Value* p = f_.param(i);
      out += "%" + names_.at(p) + ": " + declared(p->type) + " " +
             std::string(role_name(f_.roles[static_cast<size_t>(i)]));
    }
    out += ")" + results() + where();
    return out + (f_.has_body() ? body() : declaration());
  }

  std::string op(const Op& op) {
    std::string out;
    for (const auto& r : op.results) out += (out.empty() ? "%" : ", %") + name(r.get());
    if (!out.empty()) out += " = ";
    out += op.name();
    std::string attrs;
    for (const auto& [key, value] : op.attrs) {
      const AttrDef* def = op.def().find_attr(key);
      if (def != nullptr && is_default(*def, value)) continue;
      if (key == "callee")
        out += " " + attr_str(value);
      else
        attrs += (attrs.empty() ? "" : ", ") + key + " = " + attr_str(value);
    }
    for (size_t i = 0; i < op.operands.size(); ++i)
      out += (i == 0 ? " %" : ", %") + name(op.operands[i]);
    return attrs.empty() ? out : out + " {" + attrs + "}";
  }

 private:
  void assign(const Value* v) {
    std::string base = v->name.empty() ? std::to_string(next_number_++) : v->name;
    std::string chosen = base;
    for (int i = 2; !taken_.insert(chosen).second; ++i) chosen = base + "_" + std::to_string(i);
    names_[v] = chosen;
  }

  std::string name(const Value* v) const {
    auto found = names_.find(v);
    return found != names_.end() ? found->second : "<" + v->name + ">";
  }

  // The first lone use of a symbol in the parameters carries its bound.
  std::string declared(const Type& type) {
    if (type.dtype == DType::kKey && type.shape.empty()) return type.str();
    std::string out = type.row_sparse ? "row_sparse<" + bounded(type.rows) + "> " : "";
    out += std::string(dtype_name(type.dtype)) + "[";
    for (size_t i = 0; i < type.shape.size(); ++i)
      out += (i > 0 ? ", " : "") + bounded(type.shape[i]);
    return out + "]";
  }

  std::string bounded(const Dim& d) {
    auto symbol = d.as_symbol();
    if (!symbol || !f_.bound(*symbol) || !bounded_.insert(*symbol).second) return d.str();
    return *symbol + "<=" + std::to_string(*f_.bound(*symbol));
  }

  std::string results() const {
    std::vector<Type> types = f_.result_types();
    if (types.empty()) return "";
    std::string list;
    bool named = false;
    for (size_t i = 0; i < types.size(); ++i) {
      list += i > 0 ? ", " : "";
      if (i < f_.result_names.size() && !f_.result_names[i].empty()) {
        list += f_.result_names[i] + ": ";
        named = true;
      }
      list += types[i].str();
    }
    return types.size() == 1 && !named ? " -> " + list : " -> (" + list + ")";
  }

  std::string where() const {
    std::string out;
    for (const auto& [symbol, bound] : f_.bounds)
      if (bounded_.count(symbol) == 0)
        out += (out.empty() ? " where " : ", ") + symbol + "<=" + std::to_string(bound);
    return out;
  }

  std::string declaration() const {
    AttrMap attrs;
    if (f_.external) {
      attrs["symbol"] = f_.external->symbol;
      if (!f_.external->library.empty()) attrs["library"] = f_.external->library;
      if (!f_.external->pure) attrs["pure"] = false;
    }
    if (!f_.vjp.empty()) attrs["vjp"] = FunctionRef{f_.vjp};
    if (f_.train_form) attrs["train"] = FunctionRef{*f_.train_form};
    if (f_.infer_form) attrs["infer"] = FunctionRef{*f_.infer_form};
    std::string out;
    for (const auto& [key, value] : attrs)
      out += (out.empty() ? "" : ", ") + key + " = " + attr_str(value);
    return " {" + out + "}\n";
  }

  std::string body() {
    std::string out = f_.vjp.empty() ? " {\n" : " vjp @" + f_.vjp + " {\n";
    for (const auto& o : f_.body) out += "  " + op(*o) + "\n";
    out += "  return";
    for (size_t i = 0; i < f_.results.size(); ++i)
      out += (i == 0 ? " %" : ", %") + name(f_.results[i]);
    return out + "\n}\n";
  }

  const Function& f_;
  std::unordered_map<const Value*, std::string> names_;
  std::set<std::string> taken_;
  std::set<std::string> bounded_;
  int next_number_ = 0;
};

}  // namespace

std::string print(const Function& function) { return Printer(function).function(); }

std::string print(const Op& op) { return Printer(Function("")).op(op); }

std::string print(const Module& module) {
  std::string out = module.stage == Stage::kSource
                        ? ""
                        : "stage " + std::string(stage_name(module.stage)) + "\n\n";
  for (const OptimizerText& o : module.optimizers)
    out += o.source->text.substr(o.begin, o.end - o.begin) + "\n\n";
  for (size_t i = 0; i < module.functions.size(); ++i)
    out += (i > 0 ? "\n" : "") + print(*module.functions[i]);
  return out;
}

}  // namespace tapeless
