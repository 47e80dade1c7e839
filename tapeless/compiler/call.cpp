// Calls: binding of tensors and symbols, the arena at the sizes met, and the walk over the steps.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "tapeless/compiler/program.h"
#include "tapeless/ir/builder.h"
#include "tapeless/plan/plan.h"
#include "tapeless/runtime/arena.h"

namespace tapeless {

struct Call::State {
  std::shared_ptr<const Executable> executable;
  const EntryPoint* entry = nullptr;
  std::vector<Tensor> bound;  // as given
  std::vector<Tensor> dense;  // what kernels read: the same, or a dense copy
  SymbolValues symbols;
  std::vector<Extents> shapes;  // of the last run
  bool sized = false;           // symbols were bound once
  std::vector<bool> updated;    // in place, by parameter
  std::vector<bool> moved;      // bound to other memory since overlaps were looked for
  std::unique_ptr<Call> ahead;  // computes indices to check
  SymbolValues capacities;
  Arena arena, scratch;
  std::vector<int64_t> storage_bytes, offsets;
  int64_t planned = 0;

  struct Launch {
    std::vector<void*> pointers;
    std::vector<int64_t> sizes;
    int64_t tasks = 0;
    int64_t scratch_bytes = 0;
  };
  std::vector<Launch> launches;
  std::vector<Tensor> results;

  const Executable::Program& program() const { return executable->program(); }
  int param_index(std::string_view name) const;
  void check(int i, const Tensor& t) const;
  void check_overlaps();
  SymbolValues solve_symbols() const;
  void bind_symbols();
  void check_data();
  void prepare();
  void plan();
  void size_launches();
  void point();
  void* address(int storage) const;
  void run_external(const Step& step, const Launch& launch) const;
  void run_step(size_t i);
  void copy_updates() const;
  void make_results();
};

namespace {

std::string extents_str(const Tensor& t) { return t.type_str(); }

bool same_memory(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.raw() == b.raw() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

// The bytes that a view reaches: [first, second).
std::pair<const std::byte*, const std::byte*> reach(const Tensor& t) {
  const auto* at = static_cast<const std::byte*>(t.raw());
  if (t.numel() == 0) return {at, at};
  int64_t low = 0, high = 0;
  for (int axis = 0; axis < t.rank(); ++axis) {
    int64_t span = (t.dim(axis) - 1) * t.strides()[static_cast<size_t>(axis)];
    (span < 0 ? low : high) += span;
  }
  int64_t size = dtype_size(t.dtype());
  return {at + low * size, at + (high + 1) * size};
}

bool overlap(const Tensor& a, const Tensor& b) {
  auto [a_first, a_end] = reach(a);
  auto [b_first, b_end] = reach(b);
  return a_first < b_end && b_first < a_end && a_first != a_end && b_first != b_end;
}

}  // namespace

Call::Call(std::shared_ptr<const Executable> executable, std::string_view entry)
    : state_(std::make_unique<State>()) {
  state_->executable = std::move(executable);
  state_->entry = &state_->executable->program().entry(entry);
  state_->bound.resize(state_->entry->params.size());
  state_->dense.resize(state_->entry->params.size());
  state_->moved.resize(state_->entry->params.size());
  state_->updated.resize(state_->entry->params.size());
  for (const Slot& r : state_->entry->results)
    if (r.updates >= 0) state_->updated[static_cast<size_t>(r.updates)] = true;
  if (const std::string& ahead = state_->entry->checks.ahead; !ahead.empty())
    state_->ahead = std::make_unique<Call>(state_->executable, ahead);
}

Call::~Call() = default;
Call::Call(Call&&) noexcept = default;
Call& Call::operator=(Call&&) noexcept = default;

int Call::State::param_index(std::string_view name) const {
  for (size_t i = 0; i < entry->params.size(); ++i)
    if (entry->params[i].name == name) return static_cast<int>(i);
  std::vector<std::string> names;
  for (const Slot& s : entry->params) names.push_back(s.name);
  std::string near = nearest(std::string(name), names);
  data_error("@{} has no parameter %{}{}", entry->name, name,
             near.empty() ? std::string() : ", did you mean %" + near + "?");
}

void Call::State::check(int i, const Tensor& t) const {
  const Slot& slot = entry->params[static_cast<size_t>(i)];
  if (!t.defined() || t.dtype() != slot.type.dtype || t.rank() != slot.type.rank())
    data_error("@{}: %{} is {}, expected {}", entry->name, slot.name,
               t.defined() ? extents_str(t) : std::string("missing"), slot.type.str());
  if (updated[static_cast<size_t>(i)] && !t.is_dense())
    data_error("@{}: %{} is updated in place and must be dense", entry->name, slot.name);
}

// What is written may be read through one name only.
void Call::State::check_overlaps() {
  for (size_t i = 0; i < bound.size(); ++i) {
    if (!moved[i]) continue;
    bool written = updated[i];
    for (size_t j = 0; j < bound.size(); ++j) {
      if (i == j || !(written || updated[j]) || !overlap(bound[i], bound[j])) continue;
      const std::string& name = entry->params[written ? i : j].name;
      data_error("@{}: %{} is updated in place and may not share memory with %{}", entry->name,
                 name, entry->params[written ? j : i].name);
    }
  }
  std::fill(moved.begin(), moved.end(), false);
}

void Call::bind(int i, Tensor tensor) {
  state_->check(i, tensor);
  auto at = static_cast<size_t>(i);
  if (!same_memory(state_->bound[at], tensor)) state_->moved[at] = true;
  state_->bound[at] = std::move(tensor);
}

void Call::bind(std::string_view name, Tensor tensor) {
  bind(state_->param_index(name), std::move(tensor));
}

// Sizes from the shapes bound, which must fit the parameters' types.
SymbolValues Call::State::solve_symbols() const {
  std::vector<Type> wanted, given;
  for (size_t i = 0; i < bound.size(); ++i) {
    if (!bound[i].defined()) check(static_cast<int>(i), bound[i]);
    wanted.push_back(entry->params[i].type);
    given.emplace_back(bound[i].dtype(), Shape(bound[i].shape().begin(), bound[i].shape().end()));
  }
  SymbolValues values;
  for (const auto& [symbol, size] : tapeless::bind_symbols(wanted, given))
    values.emplace(symbol, size.constant());
  for (const auto& [symbol, bound_at] : entry->bounds)
    if (auto found = values.find(symbol); found != values.end() && found->second > bound_at)
      data_error("@{}: {} is {}, its bound is {}", entry->name, symbol, found->second, bound_at);
  for (size_t i = 0; i < bound.size(); ++i) {
    const Slot& slot = entry->params[i];
    if (eval_shape(slot.type.shape, values) != bound[i].shape())
      data_error("@{}: %{} is {}, expected {}", entry->name, slot.name, extents_str(bound[i]),
                 slot.type.str());
  }
  return values;
}

void Call::State::bind_symbols() {
  bool same = sized && shapes.size() == bound.size();
  for (size_t i = 0; same && i < bound.size(); ++i) same = shapes[i] == bound[i].shape();
  if (same) return;
  SymbolValues values = solve_symbols();
  for (const SizeCheck& c : entry->checks.sizes) check_size(c, values, entry->name);
  sized = false;
  symbols = std::move(values);
  shapes.clear();
  for (const Tensor& t : bound) shapes.push_back(t.shape());
  plan();
  size_launches();
  make_results();
  sized = true;
}

// Offsets for the largest sizes met so far; a new table only where one grew. A storage may also
// grow as a symbol falls: `N - B`.
void Call::State::plan() {
  bool grew = offsets.empty();
  for (const auto& [symbol, value] : symbols) {
    int64_t& capacity = capacities[symbol];
    if (value > capacity) grew = true;
    capacity = std::max(capacity, value);
  }
  storage_bytes.resize(entry->storages.size());
  for (size_t i = 0; i < storage_bytes.size(); ++i) {
    const Storage& s = entry->storages[i];
    if (s.place != Storage::Place::kArena || s.bytes.eval(symbols) <= storage_bytes[i]) continue;
    storage_bytes[i] = std::max(s.bytes.eval(symbols), s.bytes.eval(capacities));
    grew = true;
  }
  if (!grew) return;
  std::vector<Lifetime> lifetimes;
  for (size_t i = 0; i < storage_bytes.size(); ++i)
    lifetimes.push_back({storage_bytes[i], entry->storages[i].first, entry->storages[i].last});
  Placement placement = place(lifetimes);
  offsets = std::move(placement.offsets);
  planned = placement.total;
  arena.reserve(planned);
}

void Call::State::size_launches() {
  launches.resize(entry->steps.size());
  int64_t scratch_most = 0;
  int threads = program().threads->threads();
  for (size_t i = 0; i < launches.size(); ++i) {
    const Step& step = entry->steps[i];
    if (step.kernel < 0) continue;
    const loop::Kernel& kernel = program().kernels[static_cast<size_t>(step.kernel)];
    Launch& launch = launches[i];
    launch.sizes.clear();
    for (const std::string& symbol : step.symbols)
      launch.sizes.push_back(symbol == "@threads" ? threads : symbols.at(symbol));
    launch.tasks = kernel.tasks ? loop::evaluate(kernel.tasks, kernel.sizes, launch.sizes) : 1;
    launch.scratch_bytes =
        kernel.scratch_bytes ? loop::evaluate(kernel.scratch_bytes, kernel.sizes, launch.sizes) : 0;
    scratch_most = std::max(scratch_most, launch.scratch_bytes);
  }
  scratch.reserve(scratch_most * threads);
}

void* Call::State::address(int storage) const {
  const Storage& s = entry->storages[static_cast<size_t>(storage)];
  switch (s.place) {
    case Storage::Place::kParam:
      return dense[static_cast<size_t>(s.index)].raw();
    case Storage::Place::kConstant:
      return s.constant.raw();
    case Storage::Place::kArena:
      break;
  }
  return arena.data() + offsets[static_cast<size_t>(storage)];
}

// Pointers of this run: parameters may have been bound to other tensors.
void Call::State::point() {
  for (size_t i = 0; i < bound.size(); ++i) dense[i] = bound[i].dense();
  for (size_t i = 0; i < launches.size(); ++i) {
    const Step& step = entry->steps[i];
    launches[i].pointers.resize(step.storages.size());
    for (size_t j = 0; j < step.storages.size(); ++j)
      launches[i].pointers[j] = address(step.storages[j]);
  }
}

void Call::State::run_external(const Step& step, const Launch& launch) const {
  std::vector<Extents> extents;
  std::vector<Extents> strides;
  for (const Type& type : step.external_types) {
    extents.push_back(eval_shape(type.shape, symbols));
    strides.push_back(dense_strides(extents.back()));
  }
  std::vector<TapelessTensor> tensors;
  for (size_t i = 0; i < extents.size(); ++i)
    tensors.push_back({launch.pointers[i], static_cast<int32_t>(step.external_types[i].dtype),
                       static_cast<int32_t>(extents[i].size()), extents[i].data(),
                       strides[i].data()});
  auto outputs = static_cast<int32_t>(tensors.size()) - step.external_inputs;
  int status = step.external(tensors.data(), step.external_inputs,
                             tensors.data() + step.external_inputs, outputs);
  if (status != 0) data_error("C function @{} failed with {}", step.name, status);
}

void Call::State::make_results() {
  results.clear();
  for (size_t i = 0; i < entry->results.size(); ++i) {
    const Slot& slot = entry->results[i];
    Extents shape = eval_shape(slot.type.shape, symbols);
    int storage = entry->places[i].storage;
    bool in_arena = entry->storages[static_cast<size_t>(storage)].place == Storage::Place::kArena;
    results.push_back(
        in_arena && slot.updates < 0
            ? Tensor::view(slot.type.dtype, shape, dense_strides(shape), address(storage))
            : Tensor());
  }
}

void Call::State::run_step(size_t i) {
  const Step& step = entry->steps[i];
  const Launch& launch = launches[i];
  if (step.kernel < 0) {
    run_external(step, launch);
    return;
  }
  program().threads->run_kernel(program().code.function(static_cast<size_t>(step.kernel)),
                                launch.pointers.data(), launch.sizes.data(), launch.tasks,
                                scratch.data(), launch.scratch_bytes);
}

void Call::State::copy_updates() const {
  for (size_t i = 0; i < entry->places.size(); ++i) {
    const ResultPlace& place = entry->places[i];
    if (place.copy_from < 0) continue;
    const Type& type = entry->results[i].type;
    std::memcpy(address(place.storage), address(place.copy_from),
                static_cast<size_t>(numel(type.shape).eval(symbols) * dtype_size(type.dtype)));
  }
  for (const ResultPlace& place : entry->places) {
    if (place.copy_to_param < 0) continue;
    const Tensor& to = dense[static_cast<size_t>(place.copy_to_param)];
    std::memcpy(to.raw(), address(place.storage), static_cast<size_t>(to.bytes()));
  }
}

// Indices that are no indices are an error while every parameter is as it was.
void Call::State::check_data() {
  if (ahead) {
    for (size_t i = 0; i < bound.size(); ++i) ahead->bind(static_cast<int>(i), bound[i]);
    ahead->run();
  }
  for (const EntryIndexCheck& c : entry->checks.indices)
    check_indices(c.check,
                  c.param >= 0 ? bound[static_cast<size_t>(c.param)] : ahead->result(c.computed),
                  symbols, entry->name);
}

void Call::State::prepare() {
  bind_symbols();
  check_overlaps();
  check_data();
  point();
}

void Call::run() {
  state_->prepare();
  for (size_t i = 0; i < state_->launches.size(); ++i) state_->run_step(i);
  state_->copy_updates();
}

std::vector<Call::StepTime> Call::run_timed() {
  using Clock = std::chrono::steady_clock;
  state_->prepare();
  std::vector<StepTime> times;
  for (size_t i = 0; i < state_->launches.size(); ++i) {
    auto start = Clock::now();
    state_->run_step(i);
    std::chrono::duration<double> took = Clock::now() - start;
    times.push_back({state_->entry->steps[i].name, took.count(), state_->launches[i].tasks});
  }
  state_->copy_updates();
  return times;
}

Tensor Call::result(int i) const {
  const Slot& slot = state_->entry->results.at(static_cast<size_t>(i));
  if (slot.updates >= 0) return state_->dense[static_cast<size_t>(slot.updates)];
  const Tensor& made = state_->results.at(static_cast<size_t>(i));
  if (made.defined()) return made;
  // A parameter or a constant given back as it is.
  Extents shape = eval_shape(slot.type.shape, state_->symbols);
  return Tensor::view(slot.type.dtype, shape, dense_strides(shape),
                      state_->address(state_->entry->places[static_cast<size_t>(i)].storage));
}

Tensor Call::result(std::string_view name) const {
  const auto& slots = state_->entry->results;
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].name == name) return result(static_cast<int>(i));
  data_error("@{} has no result {}", state_->entry->name, name);
}

int64_t Call::arena_bytes() const { return state_->planned; }

}  // namespace tapeless
