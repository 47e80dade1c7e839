// Samples of ops made and their operands drawn.
#include "op_cases.h"

#include <algorithm>

#include "tapeless/ir/clone.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/ops/mode_form.h"
#include "tapeless/text/parser.h"

namespace tapeless {

namespace {

std::shared_ptr<const SourceText> text(const OpDef& def, std::string_view part) {
  return std::make_shared<SourceText>(
      SourceText{"case of " + std::string(def.name), std::string(part)});
}

DType widen(DType dtype, Precision precision) {
  return precision == Precision::kF64 && dtype == DType::kF32 ? DType::kF64 : dtype;
}

AttrMap sample_attrs(const OpDef& def, const OpCase& spec, Precision precision) {
  Tokens tokens(text(def, "{" + std::string(spec.attrs) + "}"));
  Symbols symbols;
  AttrMap attrs = TypeParser(tokens, symbols).attrs(&def);
  for (auto& [name, attr] : attrs) {
    if (auto* dtype = std::get_if<DType>(&attr)) *dtype = widen(*dtype, precision);
    if (auto* tensor = std::get_if<Tensor>(&attr))
      *tensor = tensor->cast(widen(tensor->dtype(), precision));
  }
  return attrs;
}

// Runs the train form of an op on the side to see which operands it writes as state.
class StateProbe : public ModeForm {
 public:
  StateProbe(Builder& b, const Op& op) : ModeForm(b, op, op.operands) {}
  Value* key() override { return b.function().add_param("key", Type::key(), Role::kKey); }
  void set_state(int i, Value*) override { written.push_back(i); }

  std::vector<int> written;
};

std::vector<int> written_operands(const Function& sample) {
  auto copy = clone(sample);
  const Op& op = *copy->body.back();
  if (op.def().train == nullptr) return {};
  Builder builder(*copy);
  StateProbe probe(builder, op);
  op.def().train(probe);
  return probe.written;
}

}  // namespace

Sample make_sample(const OpDef& def, const OpCase& spec, Precision precision) {
  Sample sample{&def, &spec, {}};
  sample.module.stage = def.legal_from;
  Function& f = *sample.module.add("sample");
  Tokens tokens(text(def, spec.operands));
  f.loc = tokens.loc();
  Symbols symbols;
  std::vector<Value*> params;
  while (!tokens.at(TokenKind::kEnd)) {
    Type type = TypeParser(tokens, symbols).type();
    type.dtype = widen(type.dtype, precision);
    Role role = type.dtype == DType::kKey ? Role::kKey : Role::kInput;
    params.push_back(f.add_param("x" + std::to_string(f.param_count()), std::move(type), role));
    if (!tokens.accept(",")) break;
  }
  Builder builder(f, &sample.module);
  builder.set_loc(f.loc);
  Op* op = builder.make_op(def, std::move(params), sample_attrs(def, spec, precision));
  for (const auto& r : op->results) f.add_result(r.get());
  for (int i : written_operands(f)) f.roles[static_cast<size_t>(i)] = Role::kState;
  return sample;
}

std::vector<Tensor> draw_arguments(const Function& function, const OpCase& spec,
                                   std::mt19937_64& generator) {
  std::uniform_real_distribution<double> real(spec.low, spec.high);
  std::uniform_int_distribution<int64_t> integer(0, spec.integers - 1);
  std::vector<Tensor> out;
  for (const auto& p : function.params) {
    DType dtype = p->type.dtype;
    Tensor t(dtype, eval_shape(p->type.shape, {}));
    for (int64_t i = 0; i < t.numel(); ++i) {
      if (is_float(dtype))
        t.set(i, real(generator));
      else
        t.set_int(i, dtype == DType::kKey    ? static_cast<int64_t>(generator())
                     : dtype == DType::kBool ? static_cast<int64_t>(generator() % 2)
                                             : integer(generator));
    }
    out.push_back(std::move(t));
  }
  return out;
}

bool has_row_sparse(const Module& module) {
  auto sparse = [](const auto& v) { return v->type.row_sparse; };
  for (const auto& f : module.functions) {
    if (std::any_of(f->params.begin(), f->params.end(), sparse)) return true;
    if (std::any_of(f->results.begin(), f->results.end(), sparse)) return true;
  }
  return false;
}

std::string in_mode(Module& module, Mode mode) {
  if (module.stage != Stage::kSource) return "sample";
  ModeRequest request{"sample", mode};
  module = specialize(module, {&request, 1});
  return "sample." + std::string(mode_name(mode));
}

std::vector<Mode> modes_of(const OpDef& def) {
  std::vector<Mode> modes;
  if (!def.differs_by_mode() || def.train != nullptr) modes.push_back(Mode::kTrain);
  if (def.infer != nullptr) modes.push_back(Mode::kInfer);
  return modes;
}

}  // namespace tapeless
