// Which data an entry point checks before it changes anything. Indices are followed to the
// parameter that they come from; those computed inside are computed ahead, by a function that holds
// just the ops they need:
//
//   func @f(%t, %x) {                    func @f.checks(%t, %x) {
//     %i = floor_div %x, 2         ->      %i = floor_div %x, 2
//     %y = gather %t, %i                   return %i
//     ...
//
// so that a bad index is an error with every parameter as it was. The kernels themselves read
// nothing outside of a tensor whatever the indices are.
#include "tapeless/compiler/checks.h"

#include <set>
#include <tuple>
#include <unordered_map>

#include "tapeless/ir/clone.h"
#include "tapeless/ir/op_def.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

// The value that the elements of `v` are copies of. A cast that could change one is no copy.
const Value* source_of(const Value* v) {
  while (v->def != nullptr) {
    const Op& op = *v->def;
    bool keeps =
        op.is(kReshapeOp) || op.is(kBarrierOp) ||
        (op.is(kCastOp) && is_integer(op.operand_type(0).dtype) && v->type.dtype == DType::kI64);
    if (!keeps) break;
    v = op.operand(0);
  }
  return v;
}

// Positions along an axis of `limit` or fewer elements.
bool known_inside(const Value* v, const Dim& limit) {
  const Op* op = source_of(v)->def;
  while (op != nullptr && (op->is(kBroadcastToOp) || op->is(kTransposeOp) || op->is(kSliceOp)))
    op = source_of(op->operand(0))->def;
  if (op == nullptr) return false;
  bool iota = op->is(kIotaOp);
  if (!iota && !op->is(kArgMaxOp) && !op->is(kArgMinOp)) return false;
  const Shape& shape = iota ? op->result_type().shape : op->operand_type(0).shape;
  int64_t axis = op->integer("axis");
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  return !(limit - shape[static_cast<size_t>(axis)]).may_be_negative();
}

class Collector {
 public:
  Collector(Module& module, const Function& f) : module_(module), f_(f) {}

  EntryChecks run() {
    for (const auto& op : f_.body) {
      OpChecks checks = checks_of(*op);
      for (SizeCheck& c : checks.sizes)
        if (sizes_.insert({c.size.str(), c.least, c.unless_empty.str()}).second)
          out_.sizes.push_back(std::move(c));
      for (IndexCheck& c : checks.indices) add(*op, std::move(c));
    }
    if (!computed_.empty()) compute_ahead();
    return std::move(out_);
  }

 private:
  void add(const Op& op, IndexCheck check) {
    const Value* v = source_of(op.operand(check.operand));
    if (known_inside(v, check.limit)) return;
    if (!indices_.insert({v, check.limit.str(), check.except}).second) return;
    if (!v->name.empty()) check.name = v->name;
    EntryIndexCheck entry{std::move(check)};
    if (v->def == nullptr) {
      entry.param = v->index;
    } else {
      entry.computed = static_cast<int>(computed_.size());
      need(v, op);
      computed_.push_back(v);
    }
    out_.indices.push_back(std::move(entry));
  }

  void need(const Value* v, const Op& reader) {
    if (v->def == nullptr || !needed_.insert(v->def).second) return;
    const Op& op = *v->def;
    if (op.is(kCallOp)) {
      const std::string& callee = op.attr<FunctionRef>("callee").name;
      const Function& f = *module_.get(callee, op.loc);
      if (f.external && !f.external->pure)
        compile_error(reader.loc,
                      "[{}] indices come from @{}, which is not pure: they cannot be computed "
                      "ahead to be checked; return them from a call of their own",
                      reader.name(), callee);
    }
    for (const Value* operand : op.operands) need(operand, reader);
  }

  void compute_ahead() {
    out_.ahead = module_.fresh_name(f_.name + ".checks");
    ValueMap map;
    std::unique_ptr<Function> ahead = clone_signature(f_, map);
    ahead->name = out_.ahead;
    ahead->vjp.clear();
    Builder b(*ahead, &module_);
    for (const auto& op : f_.body)
      if (needed_.count(op.get()) > 0) clone_op(b, *op, map);
    for (const Value* v : computed_) ahead->add_result(map[v]);
    module_.functions.push_back(std::move(ahead));
  }

  Module& module_;
  const Function& f_;
  EntryChecks out_;
  std::set<std::tuple<std::string, int64_t, std::string>> sizes_;
  std::set<std::tuple<const Value*, std::string, std::optional<int64_t>>> indices_;  // lookups only
  std::vector<const Value*> computed_;
  std::set<const Op*> needed_;  // lookups only
};

}  // namespace

EntryChecks collect_checks(Module& module, const std::string& name) {
  return Collector(module, *module.get(name)).run();
}

}  // namespace tapeless
