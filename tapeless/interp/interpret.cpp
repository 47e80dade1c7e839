// The reference interpreter. For each op in order: operands from the environment, results allocated
// at this run's sizes and filled by the op's reference. A call runs its callee; an op without a
// reference is expanded into a function of its own, which is run.
#include "tapeless/interp/interpret.h"

#include <unordered_map>

#include "tapeless/interp/external.h"
#include "tapeless/ir/builder.h"
#include "tapeless/ir/op_def.h"
#include "tapeless/ir/print.h"
#include "tapeless/ops/checks.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/reference.h"

namespace tapeless {

namespace {

Type type_of(const Tensor& t) { return {t.dtype(), Shape(t.shape().begin(), t.shape().end())}; }

class Interpreter {
 public:
  explicit Interpreter(const Module& module) : module_(module) {}

  std::vector<Tensor> run(const Function& f, std::span<const Tensor> arguments) {
    SymbolValues symbols = bind_arguments(f, arguments);
    if (f.is_mode_op())
      compile_error(f.loc, "@{} differs by mode: specialize its caller first", f.name);
    if (f.external) return call_external(f, arguments, allocate(f.result_types(), symbols));
    return run_body(f, arguments, symbols);
  }

 private:
  using Environment = std::unordered_map<const Value*, Tensor>;

  std::vector<Tensor> run_body(const Function& f, std::span<const Tensor> arguments,
                               const SymbolValues& symbols) {
    Environment values;
    for (size_t i = 0; i < arguments.size(); ++i) values[f.params[i].get()] = arguments[i].dense();
    for (const auto& op : f.body) {
      std::vector<Tensor> operands;
      for (const Value* v : op->operands) operands.push_back(values.at(v));
      check(*op, operands, symbols, f.name);
      std::vector<Tensor> results = run_op(*op, operands, symbols);
      TL_CHECK(results.size() == op->results.size(), "results of {}", print(*op));
      for (size_t i = 0; i < results.size(); ++i) {
        Extents want = eval_shape(op->result_type(static_cast<int>(i)).shape, symbols);
        TL_CHECK(results[i].shape() == want, "the reference of `{}` made {}", print(*op),
                 results[i].type_str());
        values[op->results[i].get()] = std::move(results[i]);
      }
    }
    std::vector<Tensor> out;
    for (const Value* v : f.results) out.push_back(values.at(v));
    return out;
  }

  static void check(const Op& op, const std::vector<Tensor>& operands, const SymbolValues& symbols,
                    const std::string& entry) {
    OpChecks checks = checks_of(op);
    for (const SizeCheck& c : checks.sizes) check_size(c, symbols, entry);
    for (const IndexCheck& c : checks.indices)
      check_indices(c, operands[static_cast<size_t>(c.operand)], symbols, entry);
  }

  std::vector<Tensor> run_op(const Op& op, const std::vector<Tensor>& operands,
                             const SymbolValues& symbols) {
    if (op.is(kCallOp) || op.is(kFusedOp)) {
      const Function& callee = *module_.get(op.attr<FunctionRef>("callee").name, op.loc);
      return run(callee, operands);
    }
    if (op.def().reference != nullptr) {
      std::vector<Type> types;
      for (const auto& r : op.results) types.push_back(r->type);
      ReferenceCall call(op, operands, allocate(types, symbols), symbols);
      op.def().reference(call);
      std::vector<Tensor> results;
      for (size_t i = 0; i < types.size(); ++i) results.push_back(call.out(static_cast<int>(i)));
      return results;
    }
    if (op.def().expand != nullptr) return run_expanded(op, operands, symbols);
    TL_CHECK(op.def().differs_by_mode() || op.is(kSetStateOp), "nothing runs `{}`", print(op));
    compile_error(op.loc, "[{}] differs by mode: specialize the function first", op.name());
  }

  // The expansion as a function over the op's operands, in the symbols of the op's function.
  std::vector<Tensor> run_expanded(const Op& op, const std::vector<Tensor>& operands,
                                   const SymbolValues& symbols) {
    Function f(std::string(op.name()));
    for (const Value* v : op.operands) f.add_param("", v->type, Role::kInput);
    std::vector<Value*> params;
    for (const auto& p : f.params) params.push_back(p.get());
    Builder builder(f, &module_);
    builder.set_loc(op.loc);
    for (Value* v : op.def().expand(builder, op, params)) f.add_result(v);
    return run_body(f, operands, symbols);
  }

  static std::vector<Tensor> allocate(const std::vector<Type>& types, const SymbolValues& symbols) {
    std::vector<Tensor> out;
    for (const Type& type : types) {
      out.emplace_back(type.dtype, eval_shape(type.shape, symbols));
    }
    return out;
  }

  const Module& module_;
};

}  // namespace

SymbolValues bind_arguments(const Function& function, std::span<const Tensor> arguments) {
  if (static_cast<int>(arguments.size()) != function.param_count())
    data_error("@{} takes {} arguments, got {}", function.name, function.param_count(),
               arguments.size());
  auto misfit = [&](size_t i) {
    data_error("argument %{} of @{} must be {}, got {}", function.params[i]->name, function.name,
               function.params[i]->type.str(), arguments[i].type_str());
  };
  std::vector<Type> types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type& want = function.params[i]->type;
    if (want.dtype != arguments[i].dtype() || want.rank() != arguments[i].rank() || want.row_sparse)
      misfit(i);
    types.push_back(type_of(arguments[i]));
  }
  SymbolValues values;
  for (const auto& [symbol, size] : bind_symbols(function.param_types(), types)) {
    values[symbol] = size.constant();
    auto bound = function.bound(symbol);
    if (bound && size.constant() > *bound)
      data_error("{} = {} exceeds its bound {} in @{}", symbol, size.constant(), *bound,
                 function.name);
  }
  std::map<std::string, Dim> binding(values.begin(), values.end());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!(substitute(function.params[i]->type, binding) == types[i])) misfit(i);
  return values;
}

std::vector<Tensor> interpret(const Module& module, std::string_view function,
                              std::span<const Tensor> arguments) {
  return Interpreter(module).run(*module.get(function), arguments);
}

}  // namespace tapeless
