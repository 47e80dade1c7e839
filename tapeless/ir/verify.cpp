// The verifier: the invariants V1 to V7 of verify.h, each with its letter in the message.
#include "tapeless/ir/verify.h"

#include <set>
#include <unordered_set>

#include "tapeless/ir/op_def.h"
#include "tapeless/ir/print.h"

namespace tapeless {

namespace {

class Verifier {
 public:
  Verifier(const Module& module, std::string_view after) : module_(module), after_(after) {}

  void run() {
    std::set<std::string> names;
    for (const auto& f : module_.functions)
      if (!names.insert(f->name).second) fail(*f, f->loc, "V5: function @" + f->name + " twice");
    for (const auto& f : module_.functions) function(*f);
    for (const auto& f : module_.functions) cycles(*f);
  }

 private:
  [[noreturn]] void fail(const Function& f, const Loc& loc, const std::string& what) {
    if (after_.empty()) throw_compile_error(loc, what);
    throw InternalError(
        fmt::format("after {}: @{}: {} at {}\n{}", after_, f.name, what, loc.str(), print(f)));
  }

  void function(const Function& f) {
    std::unordered_set<const Value*> defined;
    std::set<std::string> params;
    for (const auto& p : f.params) {
      defined.insert(p.get());
      if (!params.insert(p->name).second) fail(f, f.loc, "V5: parameter %" + p->name + " twice");
    }
    for (const auto& op : f.body) {
      for (const Value* v : op->operands)
        if (defined.count(v) == 0)
          fail(f, op->loc, "V1: operand of `" + print(*op) + "` is not defined before it");
      check_op(f, *op);
      for (const auto& r : op->results) defined.insert(r.get());
    }
    for (const Value* v : f.results)
      if (defined.count(v) == 0) fail(f, f.loc, "V4: a result is no value of this function");
  }

  void check_op(const Function& f, const Op& op) {
    const OpDef& def = op.def();
    if ((def.differs_by_mode() || op.has("mode")) && module_.stage >= Stage::kSpecialized)
      fail(f, op.loc, fmt::format("V7: op {} is not allowed after specialize", def.name));
    if (module_.stage < def.legal_from || module_.stage > def.legal_until)
      fail(f, op.loc,
           fmt::format("V3: op {} is not allowed at stage {} (from {} until {})", def.name,
                       stage_name(module_.stage), stage_name(def.legal_from),
                       stage_name(def.legal_until)));
    std::vector<Type> operands;
    for (const Value* v : op.operands) operands.push_back(v->type);
    std::vector<Type> inferred = def.result_type({def.name, operands, op.attrs, &module_, op.loc});
    bool same = inferred.size() == op.results.size();
    for (size_t i = 0; same && i < inferred.size(); ++i) same = inferred[i] == op.results[i]->type;
    if (!same) fail(f, op.loc, "V2: result types of `" + print(op) + "` are not what it infers");
  }

  void cycles(const Function& f) {
    if (done_.count(&f) > 0) return;
    if (!open_.insert(&f).second) fail(f, f.loc, "V6: @" + f.name + " calls itself");
    for (const auto& op : f.body)
      for (const auto& [key, value] : op->attrs)
        if (const auto* ref = std::get_if<FunctionRef>(&value))
          cycles(*module_.get(ref->name, op->loc));
    open_.erase(&f);
    done_.insert(&f);
  }

  const Module& module_;
  std::string_view after_;
  std::set<const Function*> open_, done_;
};

}  // namespace

void verify(const Module& module, std::string_view after) { Verifier(module, after).run(); }

}  // namespace tapeless
