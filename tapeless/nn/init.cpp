// First values of parameters as a function of one key, and PyTorch's defaults for files that say
// nothing about them.
#include <string_view>

#include "tapeless/nn/model.h"
#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"

namespace tapeless::nn {

namespace {

// FNV-1a, cut to 63 bits: the constants of fold_in are written as signed numbers.
int64_t name_hash(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3;
  return static_cast<int64_t>(hash >> 1);
}

Value* draw(Builder& b, Value* key, const Variable& v) {
  if (v.init.kind == Init::Kind::kConstant)
    return build::broadcast_to(b, build::constant(b, v.type.dtype, v.init.scale), v.type.shape);
  Value* own = b.make(kFoldInOp, {key}, {{"data", name_hash(v.name)}});
  AttrMap attrs{{"shape", v.type.shape}, {"dtype", v.type.dtype}};
  if (v.init.kind == Init::Kind::kNormal)
    return build::mul(b, b.make(kRandomNormalOp, {own}, attrs), v.init.scale);
  Value* u = b.make(kRandomUniformOp, {own}, attrs);
  Value* scaled = build::mul(b, u, 2 * v.init.scale);
  return build::add(b, scaled, build::constant_like(b, u, -v.init.scale));
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> ends) {
  for (std::string_view end : ends)
    if (name.ends_with(end)) return true;
  return false;
}

// The number of inputs that one output of this weight reads: rows of the right side of a plain
// matmul, else the product of all but the first axis.
int64_t fan_in_of(const Function& f, const Value* weight) {
  const Shape& shape = weight->type.shape;
  for (const auto& op : f.body)
    if (op->is(kMatmulOp) && op->operand(1) == weight && !op->flag("transpose_b"))
      return shape[shape.size() - 2].constant();
  int64_t fan = 1;
  for (size_t i = 1; i < shape.size(); ++i) fan *= shape[i].constant();
  return fan;
}

bool is_table(const Function& f, const Value* weight) {
  for (const auto& op : f.body)
    if (op->is(kGatherOp) && op->operand(0) == weight) return true;
  return false;
}

Init default_init(const Function& f, const Value* p, Role role) {
  std::string_view name = p->name;
  if (role == Role::kState) return ends_with_any(name, {"var"}) ? Init::ones() : Init::zeros();
  if (is_table(f, p)) return Init::normal(1);
  if (p->type.rank() >= 2) return Init::fan_in(fan_in_of(f, p));
  if (ends_with_any(name, {"weight", "scale", "gamma"})) return Init::ones();
  if (name.ends_with("bias")) {
    std::string sibling(name.substr(0, name.size() - 4));
    const Value* weight = f.find_param(sibling + "weight");
    if (weight != nullptr && weight->type.rank() >= 2) return Init::fan_in(fan_in_of(f, weight));
  }
  return Init::zeros();
}

}  // namespace

void add_init(Module& module, const std::string& name, const std::vector<Variable>& variables) {
  Function* f = module.add(name);
  Value* key = f->add_param("key", Type::key(), Role::kKey);
  Builder b(*f, &module);
  for (const Variable& v : variables) f->add_result(draw(b, key, v), v.name);
}

std::vector<Variable> default_variables(const Function& f) {
  std::vector<Variable> variables;
  for (int i = 0; i < f.param_count(); ++i) {
    const Value* p = f.param(i);
    Role role = f.roles[static_cast<size_t>(i)];
    if (role != Role::kParam && role != Role::kState) continue;
    for (const Dim& d : p->type.shape)
      if (!d.is_constant())
        compile_error(f.loc, "parameter %{} of @{} must have a fixed size, got {}", p->name, f.name,
                      p->type.str());
    variables.push_back({p->name, p->type, role, default_init(f, p, role)});
  }
  return variables;
}

}  // namespace tapeless::nn
