// Around a network: its loss with a count of right answers, its prediction, its first values.
#include "tapeless/nn/model.h"

#include "tapeless/ops/build.h"
#include "tapeless/ops/ops.h"

namespace tapeless::nn {

namespace {

bool is_variable(Role role) { return role == Role::kParam || role == Role::kState; }

// Declares the variables of `net` in `f` too; gives the arguments of a call of net on `x`.
std::vector<Value*> declare_variables(Function& f, const Function& net, Value* x) {
  std::vector<Value*> arguments;
  for (int i = 0; i < net.param_count(); ++i) {
    const Value* p = net.param(i);
    Role role = net.roles[static_cast<size_t>(i)];
    arguments.push_back(is_variable(role) ? f.add_param(p->name, p->type, role) : x);
  }
  return arguments;
}

// f32[]: how many rows have their largest value at the label
Value* count_correct(Builder& b, Value* y, Value* labels) {
  Value* best = b.make(kArgMaxOp, {y}, {{"axes", Ints{1}}});
  Value* equal = b.make(kEqOp, {build::cast(b, best, labels->type.dtype), labels});
  return build::sum(b, build::cast(b, equal, DType::kF32), {0});
}

const OpDef& loss_op(const Loss& loss, const Loc& loc) {
  const OpDef* known[] = {&kCrossEntropyOp, &kNllLossOp, &kBceWithLogitsOp,
                          &kMseOp,          &kL1Op,      &kHuberOp};
  std::vector<std::string> names{"nll"};
  for (const OpDef* op : known) {
    if (op->name == loss.kind || (loss.kind == "nll" && op == &kNllLossOp)) return *op;
    names.emplace_back(op->name);
  }
  std::string near = nearest(loss.kind, names);
  compile_error(loc, "unknown loss `{}`{}", loss.kind,
                near.empty() ? std::string() : ", did you mean `" + near + "`?");
}

// Whether the loss is one of class labels, i32[rows].
bool takes_labels(const OpDef& op) { return &op == &kCrossEntropyOp || &op == &kNllLossOp; }

const Value* input_of(const Function& net) {
  const Value* x = nullptr;
  for (int i = 0; i < net.param_count(); ++i) {
    if (net.roles[static_cast<size_t>(i)] != Role::kInput) continue;
    if (x != nullptr)
      compile_error(net.loc, "a network has one input, @{} has %{} and %{} (name the loss instead)",
                    net.name, x->name, net.param(i)->name);
    x = net.param(i);
  }
  if (x == nullptr || x->type.rank() == 0)
    compile_error(net.loc, "@{} has no input of rows", net.name);
  return x;
}

// @loss(x, y, variables) -> (loss_sum, weight, correct)
void add_loss(Module& module, const std::string& name, const Function& net, const Loss& loss) {
  const OpDef& op = loss_op(loss, net.loc);
  const Value* input = input_of(net);
  const Type result = net.result_types().at(0);
  bool labels = takes_labels(op);
  if (labels && result.rank() != 2)
    compile_error(net.loc, "[{}] the network must give [rows, classes], got {}", op.name,
                  result.str());
  Function* f = module.add(name);
  f->loc = net.loc;
  f->bounds = net.bounds;
  Value* x = f->add_param(input->name, input->type, Role::kInput);
  Type y_type = labels ? Type(DType::kI32, {result.shape[0]}) : result;
  Value* y = f->add_param("y", y_type, Role::kInput);
  std::vector<Value*> arguments = declare_variables(*f, net, x);
  Builder b(*f, &module);
  b.set_loc(net.loc.derived("loss of"));
  Value* out = Builder::named(build::call(b, net.name, arguments).at(0), "out");
  AttrMap attrs;
  if (op.find_attr("label_smoothing") != nullptr)
    attrs.emplace("label_smoothing", loss.label_smoothing);
  Op* made = b.make_op(op, {out, y}, std::move(attrs));
  f->add_result(made->result(0), "loss_sum");
  f->add_result(made->result(1), "weight");
  if (labels) f->add_result(count_correct(b, out, y), "correct");
}

// @predict(x, variables) -> probabilities where the loss has classes
void add_predict(Module& module, const std::string& name, const Function& net, const Loss& loss) {
  const Value* input = input_of(net);
  Function* f = module.add(name);
  f->loc = net.loc;
  f->bounds = net.bounds;
  Value* x = f->add_param(input->name, input->type, Role::kInput);
  std::vector<Value*> arguments = declare_variables(*f, net, x);
  Builder b(*f, &module);
  b.set_loc(net.loc.derived("prediction of"));
  Value* y = build::call(b, net.name, arguments).at(0);
  if (loss.kind == "cross_entropy") y = b.make(kSoftmaxOp, {y}, {{"axis", int64_t{1}}});
  if (loss.kind == "nll") y = b.make(kExpOp, {y});
  if (loss.kind == "bce_with_logits") y = b.make(kSigmoidOp, {y});
  f->add_result(y, "y");
}

// @loss from a user's scalar mean: (mean * rows, rows)
void add_weighted(Module& module, const std::string& name, const Function& scalar) {
  Function* f = module.add(name);
  f->loc = scalar.loc;
  f->bounds = scalar.bounds;
  std::vector<Value*> arguments;
  const Value* rows_of = nullptr;
  for (int i = 0; i < scalar.param_count(); ++i) {
    const Value* p = scalar.param(i);
    Role role = scalar.roles[static_cast<size_t>(i)];
    if (rows_of == nullptr && role == Role::kInput && p->type.rank() > 0) rows_of = p;
    arguments.push_back(f->add_param(p->name, p->type, role));
  }
  if (rows_of == nullptr) compile_error(scalar.loc, "@{} has no input of rows", scalar.name);
  Builder b(*f, &module);
  b.set_loc(scalar.loc.derived("weight of"));
  Value* mean = build::call(b, scalar.name, arguments).at(0);
  Value* rows = build::numel(b, mean->type.dtype, {rows_of->type.shape[0]});
  f->add_result(build::mul(b, mean, rows), "loss_sum");
  f->add_result(rows, "weight");
}

bool is_loss(const Function& f) {
  std::vector<Type> results = f.result_types();
  return !results.empty() && results[0].is_scalar() && is_float(results[0].dtype);
}

}  // namespace

Model make_model(const Problem& problem, const NetFunction& net) {
  Model model;
  Module& m = model.module;
  Function* f = m.add(model.net);
  f->loc = Loc::here();
  f->bounds["B"] = problem.max_batch;
  Shape shape{Dim::symbol("B")};
  shape.insert(shape.end(), problem.input.begin(), problem.input.end());
  Value* x = f->add_param("x", Type(DType::kF32, shape), Role::kInput);
  Layers layers(*f, m);
  Value* y = net(layers, x);
  f->add_result(y, "y");
  add_loss(m, model.loss, *f, problem.loss);
  add_predict(m, model.predict, *f, problem.loss);
  add_init(m, model.init, layers.variables());
  return model;
}

Model make_model(Module module, const std::string& entry, const Loss& loss) {
  Model model;
  model.module = std::move(module);
  Module& m = model.module;
  const Function* f = m.get(entry);
  if (is_loss(*f)) {
    model.net.clear();
    model.loss = entry;
    if (f->result_types().size() == 1) {
      model.loss = m.fresh_name("weighted_loss");
      add_weighted(m, model.loss, *f);
    }
    if (m.find("predict") == nullptr) model.predict.clear();
  } else {
    model.net = entry;
    model.loss = m.fresh_name("loss");
    add_loss(m, model.loss, *f, loss);
    if (m.find("predict") == nullptr) add_predict(m, "predict", *f, loss);
  }
  if (m.find("init") == nullptr) add_init(m, "init", default_variables(*f));
  return model;
}

}  // namespace tapeless::nn
