// The named buffers of a run.
#include "tapeless/train/state.h"

#include <cstring>

#include "tapeless/train/checkpoint.h"

namespace tapeless {

namespace {

constexpr std::string_view kAveragePrefix = "ema.";

void add(TensorMap& map, const std::string& name, Tensor tensor) {
  bool added = map.emplace(name, tensor.dense()).second;
  TL_CHECK(added, "tensor {} exists", name);
}

// Both have the same names and types.
void copy(const TensorMap& to, const TensorMap& from) {
  for (const auto& [name, tensor] : to)
    if (tensor.bytes() > 0)
      std::memcpy(tensor.raw(), from.find(name)->second.dense().raw(),
                  static_cast<size_t>(tensor.bytes()));
}

}  // namespace

void State::add_model(const std::string& name, Tensor tensor) {
  add(model_, name, std::move(tensor));
}

void State::add_optimizer(const std::string& name, Tensor tensor) {
  add(optimizer_, name, std::move(tensor));
}

const Tensor* State::find(std::string_view name) const {
  for (const TensorMap* map : {&model_, &optimizer_})
    if (auto found = map->find(name); found != map->end()) return &found->second;
  return nullptr;
}

const Tensor& State::get(std::string_view name) const {
  const Tensor* tensor = find(name);
  TL_CHECK(tensor != nullptr, "no tensor {}", name);
  return *tensor;
}

void State::assign(const TensorMap& model, const TensorMap& optimizer, const std::string& source) {
  check_tensors(source, model, model_);
  check_tensors(source, optimizer, optimizer_);
  copy(model_, model);
  copy(optimizer_, optimizer);
}

void State::assign_model(const TensorMap& model, const std::string& source) {
  check_tensors(source, model, model_);
  copy(model_, model);
}

void State::bind(Call& call, const Executable& executable, std::string_view entry,
                 bool averaged) const {
  const std::vector<Slot>& slots = executable.params(entry);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].role != Role::kParam && slots[i].role != Role::kState) continue;
    const Tensor* average = averaged ? find(std::string(kAveragePrefix) + slots[i].name) : nullptr;
    call.bind(static_cast<int>(i), average != nullptr ? *average : get(slots[i].name));
  }
}

}  // namespace tapeless
