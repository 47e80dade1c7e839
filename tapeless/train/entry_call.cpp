// A call of an entry point with everything that does not change bound once.
#include "tapeless/train/entry_call.h"

#include "tapeless/support/diagnostics.h"

namespace tapeless {

EntryCall::EntryCall(std::shared_ptr<const Executable> executable, std::string entry,
                     const State& state, bool averaged)
    : executable_(std::move(executable)),
      entry_(std::move(entry)),
      call_(executable_->call(entry_)),
      key_(DType::kKey, {}) {
  state.bind(call_, *executable_, entry_, averaged);
  const std::vector<Slot>& slots = executable_->params(entry_);
  hypers_.resize(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    int index = static_cast<int>(i);
    if (slots[i].role == Role::kInput) inputs_.push_back(index);
    if (slots[i].role == Role::kKey) call_.bind(index, key_);
    if (slots[i].role != Role::kHyper) continue;
    hypers_[i] = Tensor::scalar(slots[i].type.dtype, 0);
    call_.bind(index, hypers_[i]);
  }
}

int EntryCall::find_param(std::string_view name) const {
  const std::vector<Slot>& slots = executable_->params(entry_);
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].name == name) return static_cast<int>(i);
  return -1;
}

int EntryCall::find_result(std::string_view name) const {
  const std::vector<Slot>& slots = executable_->results(entry_);
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].name == name) return static_cast<int>(i);
  return -1;
}

std::vector<std::string> EntryCall::input_names() const {
  std::vector<std::string> names;
  for (int i : inputs_) names.push_back(executable_->params(entry_)[static_cast<size_t>(i)].name);
  return names;
}

void EntryCall::set_inputs(const std::vector<Tensor>& inputs) {
  if (inputs.size() != inputs_.size())
    data_error("@{} takes {} inputs, the data have {} fields", entry_, inputs_.size(),
               inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    DType want = executable_->params(entry_)[static_cast<size_t>(inputs_[i])].type.dtype;
    bool convert = is_integer(want) && is_integer(inputs[i].dtype()) && want != inputs[i].dtype();
    call_.bind(inputs_[i], convert ? inputs[i].cast(want) : inputs[i]);
  }
}

void EntryCall::set_input(std::string_view name, const Tensor& tensor) {
  int i = find_param(name);
  TL_CHECK(i >= 0, "@{} has no parameter {}", entry_, name);
  call_.bind(i, tensor);
}

void EntryCall::set_key(uint64_t key) { key_.set_int(0, static_cast<int64_t>(key)); }

void EntryCall::set_hyper(std::string_view name, double value) {
  int i = find_param(name);
  if (i >= 0 && hypers_[static_cast<size_t>(i)].defined())
    hypers_[static_cast<size_t>(i)].set(0, value);
}

Tensor EntryCall::result(std::string_view name) const {
  int i = find_result(name);
  TL_CHECK(i >= 0, "@{} has no result {}", entry_, name);
  return call_.result(i);
}

}  // namespace tapeless
