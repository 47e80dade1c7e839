// Making ops: attribute defaults, operand counts, result types, and the binding of symbols by
// calls.
#include "tapeless/ir/builder.h"

namespace tapeless {

const AttrDef* OpDef::find_attr(std::string_view attr) const {
  for (const AttrDef& a : attrs)
    if (a.name == attr) return &a;
  return nullptr;
}

namespace {

std::vector<std::string> attr_names(const OpDef& def) {
  std::vector<std::string> names;
  for (const AttrDef& a : def.attrs) names.emplace_back(a.name);
  return names;
}

Attr fallback_attr(const AttrDef& def) {
  if (const auto* b = std::get_if<bool>(&def.fallback)) return *b;
  if (const auto* i = std::get_if<int64_t>(&def.fallback)) return *i;
  if (const auto* d = std::get_if<double>(&def.fallback)) return *d;
  return std::string(std::get<std::string_view>(def.fallback));
}

// Texts and callers may write `[1, 2]` for a shape and `1` for a real.
void convert(Attr& attr, AttrKind want) {
  if (want == AttrKind::kShape && kind_of(attr) == AttrKind::kInts) {
    Shape shape;
    for (int64_t i : std::get<Ints>(attr)) shape.emplace_back(i);
    attr = std::move(shape);
  } else if (want == AttrKind::kInts && kind_of(attr) == AttrKind::kShape) {
    Ints ints;
    for (const Dim& d : std::get<Shape>(attr)) {
      if (!d.is_constant()) return;
      ints.push_back(d.constant());
    }
    attr = std::move(ints);
  } else if (want == AttrKind::kReal && kind_of(attr) == AttrKind::kInt) {
    attr = static_cast<double>(std::get<int64_t>(attr));
  }
}

}  // namespace

AttrMap complete_attrs(const OpDef& def, AttrMap attrs, const Loc& loc) {
  for (auto& [name, value] : attrs) {
    const AttrDef* a = def.find_attr(name);
    if (a == nullptr) {
      std::string near = nearest(name, attr_names(def));
      compile_error(loc, "[{}] no attribute `{}`{}", def.name, name,
                    near.empty() ? std::string() : ", did you mean `" + near + "`?");
    }
    convert(value, a->kind);
    if (kind_of(value) != a->kind)
      compile_error(loc, "[{}] attribute `{}` must be {}, got {}", def.name, name,
                    attr_kind_name(a->kind), attr_str(value));
  }
  for (const AttrDef& a : def.attrs) {
    if (attrs.find(a.name) != attrs.end()) continue;
    if (!std::holds_alternative<std::monostate>(a.fallback))
      attrs.emplace(std::string(a.name), fallback_attr(a));
    else if (!a.optional)
      compile_error(loc, "[{}] attribute `{}` is missing", def.name, a.name);
  }
  return attrs;
}

Op* Builder::make_op(const OpDef& def, std::vector<Value*> operands, AttrMap attrs) {
  int count = static_cast<int>(operands.size());
  if (count < def.min_operands || (def.max_operands >= 0 && count > def.max_operands))
    compile_error(loc_, "[{}] takes {}{} operands, got {}", def.name, def.min_operands,
                  def.max_operands == def.min_operands ? std::string()
                  : def.max_operands < 0               ? std::string(" or more")
                                                       : fmt::format(" to {}", def.max_operands),
                  count);
  attrs = complete_attrs(def, std::move(attrs), loc_);
  std::vector<Type> types;
  for (const Value* v : operands) {
    TL_CHECK(v != nullptr, "operand of {} is null", def.name);
    types.push_back(v->type);
  }
  TL_CHECK(def.result_type != nullptr, "op {} has no result types", def.name);
  std::vector<Type> results = def.result_type({def.name, types, attrs, module_, loc_});
  auto op = std::make_unique<Op>(def, std::move(operands), std::move(attrs), loc_);
  for (Type& type : results) {
    auto value = std::make_unique<Value>();
    value->type = std::move(type);
    value->def = op.get();
    value->index = static_cast<int>(op->results.size());
    op->results.push_back(std::move(value));
  }
  function_->body.push_back(std::move(op));
  return function_->body.back().get();
}

Value* Builder::make(const OpDef& def, std::vector<Value*> operands, AttrMap attrs) {
  Op* op = make_op(def, std::move(operands), std::move(attrs));
  TL_CHECK(op->results.size() == 1, "op {} has {} results", def.name, op->results.size());
  return op->result();
}

Value* Builder::named(Value* value, std::string name) {
  value->name = std::move(name);
  return value;
}

Type substitute(const Type& type, const std::map<std::string, Dim>& with) {
  Type out = type;
  for (Dim& d : out.shape) d = d.substitute(with);
  out.rows = out.rows.substitute(with);
  return out;
}

std::map<std::string, Dim> bind_symbols(std::span<const Type> patterns,
                                        std::span<const Type> arguments) {
  std::vector<std::pair<Dim, Dim>> sizes;
  for (size_t i = 0; i < patterns.size(); ++i) {
    for (size_t axis = 0; axis < patterns[i].shape.size(); ++axis)
      sizes.emplace_back(patterns[i].shape[axis], arguments[i].shape[axis]);
    if (patterns[i].row_sparse) sizes.emplace_back(patterns[i].rows, arguments[i].rows);
  }
  std::map<std::string, Dim> binding;
  // Lone symbols first, so that the error about a misfit names the argument a reader expects.
  for (const auto& [want, got] : sizes)
    if (auto symbol = want.as_symbol()) binding.emplace(*symbol, got);
  for (size_t before = sizes.size() + 1; before != binding.size();) {
    before = binding.size();
    for (const auto& [want, got] : sizes)
      if (auto solved = solve(want, got, binding)) binding.insert(*solved);
  }
  return binding;
}

std::map<std::string, Dim> bind_call_symbols(const Function& callee,
                                             std::span<const Type> arguments, const Loc& loc) {
  if (static_cast<int>(arguments.size()) != callee.param_count())
    compile_error(loc, "[call] @{} takes {} arguments, got {}", callee.name, callee.param_count(),
                  arguments.size());
  auto misfit = [&](int i) {
    compile_error(loc, "[call] argument %{} of @{} must be {}, got {}", callee.param(i)->name,
                  callee.name, callee.param(i)->type.str(), arguments[size_t(i)].str());
  };
  for (int i = 0; i < callee.param_count(); ++i) {
    const Type& want = callee.param(i)->type;
    const Type& got = arguments[static_cast<size_t>(i)];
    if (want.dtype != got.dtype || want.rank() != got.rank() || want.row_sparse != got.row_sparse)
      misfit(i);
  }
  auto binding = bind_symbols(callee.param_types(), arguments);
  for (int i = 0; i < callee.param_count(); ++i)
    if (!(substitute(callee.param(i)->type, binding) == arguments[static_cast<size_t>(i)]))
      misfit(i);
  return binding;
}

std::vector<Type> call_result_types(const Function& callee, std::span<const Type> arguments,
                                    const Loc& loc) {
  auto binding = bind_call_symbols(callee, arguments, loc);
  std::vector<Type> types;
  for (const Type& type : callee.result_types()) types.push_back(substitute(type, binding));
  return types;
}

}  // namespace tapeless
