// Functions for one mode. Steps, for each function: copy its signature; walk its body, replacing
// each op that differs by mode with its form and each call with one of the callee for its mode;
// append the new values of state to the results.
//
//   func @f(%x: f32[8] input, %n: f32[] state) -> f32[8] {
//     %y = dropout %x {rate = 0.1}
//     set_state %n, %c
//     return %y
//   }
// becomes, in train,
//   func @f.train(%x: f32[8] input, %n: f32[] state, %key: key key) -> (f32[8], %n: f32[]) {
//     %key.y = fold_in %key, %hash_of_y
//     ... random bits from %key.y, compare, scale ...
//     return %y, %c
//   }
#include "tapeless/mode/specialize.h"

#include <map>
#include <set>

#include "tapeless/ir/clone.h"
#include "tapeless/mode/keys.h"
#include "tapeless/ops/mode_form.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

// A function made for a mode, and what its callers have to do.
struct Specialized {
  std::string name;
  bool key_added = false;         // pass a key as the last argument
  std::vector<int> state_params;  // the last results are the new values of these parameters
};

class Specializer {
 public:
  explicit Specializer(const Module& source) : source_(source) {
    out_.stage = Stage::kSpecialized;
    out_.optimizers = source.optimizers;
  }

  const Specialized& get(const std::string& name, Mode mode, const Loc& loc);
  Module take() { return std::move(out_); }

  const Module& source() const { return source_; }
  Module& out() { return out_; }

 private:
  const Module& source_;
  Module out_;
  std::map<std::pair<std::string, Mode>, Specialized> made_;
};

// One function body on its way to a mode.
class Body {
 public:
  Body(Specializer& all, const Function& from, const std::string& name, Mode mode)
      : all_(all),
        from_(from),
        mode_(mode),
        to_(clone_signature(from, map_)),
        b_(*to_, &all.out()),
        keys_(b_) {
    to_->name = name;
  }

  Specialized run() {
    check_single_use_of_keys(from_);
    for (const auto& op : from_.body) convert(*op);
    for (size_t i = 0; i < from_.results.size(); ++i)
      to_->add_result(map_[from_.results[i]], from_.result_names[i]);
    Specialized made{to_->name, keys_.added(), {}};
    for (const auto& p : from_.params) {
      if (states_.count(p->index) == 0) continue;
      to_->add_result(map_[p.get()], "%" + p->name);
      made.state_params.push_back(p->index);
    }
    if (!from_.vjp.empty()) {
      if (made.key_added || !made.state_params.empty())
        compile_error(from_.loc,
                      "@{} has a vjp of its own: it must take its key as a parameter "
                      "and set no state",
                      from_.name);
      to_->vjp = all_.get(from_.vjp, mode_, from_.loc).name;
    }
    all_.out().functions.push_back(std::move(to_));
    return made;
  }

  Value* key_of(const Op& op) { return keys_.make(op); }

  // From here on reads of the state parameter see `value`.
  void set_state(const Op& op, int operand, Value* value) {
    const Value* state = op.operand(operand);
    bool is_state =
        state->def == nullptr && from_.roles[static_cast<size_t>(state->index)] == Role::kState;
    if (!is_state)
      compile_error(op.loc, "[{}] operand {} is written: %{} must be a state parameter of @{}",
                    op.name(), operand, state->name, from_.name);
    if (mode_ == Mode::kInfer)
      compile_error(op.loc, "[{}] state %{} is set in infer mode, by @{}", op.name(), state->name,
                    from_.name);
    states_.insert(state->index);
    map_.set(state, value);
  }

 private:
  void convert(const Op& op) {
    b_.set_loc(op.loc);
    if (op.is(kSetStateOp)) return set_state(op, 0, map_[op.operand(1)]);
    if (op.is(kCallOp)) return call(op);
    if (op.def().differs_by_mode()) return take_form(op);
    Op* copy = clone_op(b_, op, map_);
    for (auto& [key, attr] : copy->attrs)
      if (auto* ref = std::get_if<FunctionRef>(&attr)) ref->name = plain_callee(op, ref->name);
  }

  // An op that takes a function has no way to pass a key or to thread state.
  std::string plain_callee(const Op& op, const std::string& name) {
    const Specialized& callee = all_.get(name, mode_, op.loc);
    if (callee.key_added || !callee.state_params.empty())
      compile_error(op.loc, "[{}] @{} must take its key as a parameter and set no state", op.name(),
                    name);
    return callee.name;
  }

  void call(const Op& op) {
    const Specialized& callee =
        all_.get(op.attr<FunctionRef>("callee").name, call_mode(op), op.loc);
    std::vector<Value*> arguments = map_.all(op.operands);
    if (callee.key_added) arguments.push_back(key_of(op));
    Op* made = b_.make_op(kCallOp, std::move(arguments), {{"callee", FunctionRef{callee.name}}});
    size_t own = op.results.size();
    for (size_t i = 0; i < own; ++i) bind(*op.results[i], made->results[i].get());
    for (size_t i = 0; i < callee.state_params.size(); ++i)
      set_state(op, callee.state_params[i], made->results[own + i].get());
  }

  Mode call_mode(const Op& op) const {
    if (!op.has("mode")) return mode_;
    const std::string& mode = op.text("mode");
    if (mode != "train" && mode != "infer")
      compile_error(op.loc, "[call] mode must be train or infer, got {}", mode);
    return mode == "train" ? Mode::kTrain : Mode::kInfer;
  }

  void take_form(const Op& op);

  void bind(const Value& from, Value* to) {
    if (to->def != nullptr && to->name.empty()) to->name = from.name;
    map_.set(&from, to);
  }

  Specializer& all_;
  const Function& from_;
  Mode mode_;
  ValueMap map_;
  std::unique_ptr<Function> to_;
  Builder b_;
  SiteKeys keys_;
  std::set<int> states_;  // parameters with a new value
};

class Form : public ModeForm {
 public:
  Form(Body& body, Builder& b, const Op& op, std::span<Value* const> operands)
      : ModeForm(b, op, operands), body_(body) {}
  Value* key() override { return key_ != nullptr ? key_ : key_ = body_.key_of(op); }
  void set_state(int i, Value* value) override { body_.set_state(op, i, value); }

 private:
  Body& body_;
  Value* key_ = nullptr;
};

void Body::take_form(const Op& op) {
  auto* form = mode_ == Mode::kTrain ? op.def().train : op.def().infer;
  if (form == nullptr)
    compile_error(op.loc, "[{}] has no form for mode {}", op.name(), mode_name(mode_));
  std::vector<Value*> operands = map_.all(op.operands);
  Form context(*this, b_, op, operands);
  form(context);
  for (size_t i = 0; i < op.results.size(); ++i) {
    Value* value = context.results()[i];
    TL_CHECK(value != nullptr && value->type == op.results[i]->type, "[{}] form for {}, result {}",
             op.name(), mode_name(mode_), i);
    bind(*op.results[i], value);
  }
}

// The function that a mode op stands for; `f` itself otherwise.
const Function& resolve(const Module& source, const Function& f, Mode mode, const Loc& loc) {
  if (!f.is_mode_op()) return f;
  const auto& form = mode == Mode::kTrain ? f.train_form : f.infer_form;
  if (!form)
    compile_error(loc.source != nullptr ? loc : f.loc, "mode op @{} has no form for mode {}",
                  f.name, mode_name(mode));
  const Function& chosen = *source.get(*form, f.loc);
  if (chosen.param_types() != f.param_types() || chosen.result_types() != f.result_types())
    compile_error(f.loc, "mode op @{} and its form @{} differ in their types", f.name, chosen.name);
  return resolve(source, chosen, mode, loc);
}

const Specialized& Specializer::get(const std::string& name, Mode mode, const Loc& loc) {
  auto key = std::make_pair(name, mode);
  auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  const Function& f = resolve(source_, *source_.get(name, loc), mode, loc);
  std::string to = name + "." + std::string(mode_name(mode));
  return made_.emplace(std::move(key), Body(*this, f, to, mode).run()).first->second;
}

}  // namespace

Module specialize(const Module& module, std::span<const ModeRequest> requests) {
  if (module.stage != Stage::kSource) compile_error({}, "the module is specialized already");
  Specializer all(module);
  for (const ModeRequest& request : requests) all.get(request.function, request.mode, {});
  return all.take();
}

}  // namespace tapeless
