// A fused function -> steps over storages. Steps:
//  1. Lower each region once; number the steps; note for every storage when it is read and written.
//  2. Give every value a storage: parameters and constants their own, aliases that of what they
//     alias, results of regions an operand's where that dies here and may be shared, else a piece
//     of the arena.
//  3. A result named "%w" is written into parameter w itself where every read of w comes before;
//     otherwise it is copied there at the end. An old value of such a parameter that is a result
//     too is copied to the arena before that.
#include <algorithm>
#include <unordered_map>

#include "tapeless/compiler/program.h"
#include "tapeless/ir/op_def.h"
#include "tapeless/lower/lower.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

class Scheduler {
 public:
  Scheduler(const Module& fused, const Function& f, const loop::Machine& machine,
            std::vector<loop::Kernel>& kernels)
      : fused_(fused), f_(f), machine_(machine), kernels_(kernels) {}

  EntryPoint run() {
    out_.name = f_.name;
    out_.bounds = f_.bounds;
    signature();
    find_last_reads();
    for (size_t i = 0; i < f_.body.size(); ++i) {
      at_ = static_cast<int>(i);
      place(*f_.body[i]);
    }
    results();
    return std::move(out_);
  }

 private:
  void signature() {
    for (int i = 0; i < f_.param_count(); ++i) {
      const Value* p = f_.param(i);
      out_.params.push_back({p->name, p->type, f_.roles[static_cast<size_t>(i)], -1});
      Storage s;
      s.place = Storage::Place::kParam;
      s.index = i;
      s.name = p->name;
      storage_of_[p] = add(std::move(s));
    }
    for (size_t i = 0; i < f_.results.size(); ++i) {
      Slot slot{f_.result_names[i], f_.results[i]->type, Role::kInput, -1};
      if (!slot.name.empty() && slot.name[0] == '%') {
        const Value* p = f_.find_param(slot.name.substr(1));
        if (p == nullptr || !(p->type == slot.type))
          compile_error(f_.loc, "@{} returns a new value of {}, which is no parameter of type {}",
                        f_.name, slot.name, slot.type.str());
        slot.updates = p->index;
      }
      out_.results.push_back(std::move(slot));
    }
  }

  int add(Storage s) {
    out_.storages.push_back(std::move(s));
    last_read_.push_back(-1);
    return static_cast<int>(out_.storages.size()) - 1;
  }

  // The position of the last op that reads each value, aliases counted as the value itself.
  void find_last_reads() {
    std::unordered_map<const Value*, const Value*> origin;
    auto root = [&](const Value* v) {
      auto found = origin.find(v);
      return found == origin.end() ? v : found->second;
    };
    for (size_t i = 0; i < f_.body.size(); ++i) {
      const Op& op = *f_.body[i];
      if (is_alias(op)) {
        origin[op.result()] = root(op.operand(0));
        continue;
      }
      for (const Value* v : op.operands) {
        last_use_[root(v)] = static_cast<int>(i);
        last_use_[v] = std::max(last_use_[v], static_cast<int>(i));
      }
    }
    for (size_t i = 0; i < f_.results.size(); ++i) {
      const Value* v = root(f_.results[i]);
      returned_[v].push_back(static_cast<int>(i));
    }
    for (const auto& op : f_.body)
      if (is_alias(*op)) root_[op->result()] = root(op->result());
  }

  const Value* root(const Value* v) const {
    auto found = root_.find(v);
    return found == root_.end() ? v : found->second;
  }
  int last_use(const Value* v) const {
    auto found = last_use_.find(root(v));
    return found == last_use_.end() ? -1 : found->second;
  }
  static bool is_alias(const Op& op) { return op.def().lower != nullptr && op.def().lower->alias; }

  void place(const Op& op) {
    if (is_alias(op)) {
      storage_of_[op.result()] = storage_of_.at(op.operand(0));
      return;
    }
    if (op.is(kConstantOp)) {
      Storage s;
      s.place = Storage::Place::kConstant;
      s.constant = op.attr<Tensor>("value").dense();
      storage_of_[op.result()] = add(std::move(s));
      return;
    }
    op.is(kCallOp) ? external(op) : region(op);
  }

  int arena(const Value* v) {
    Storage s;
    s.bytes = numel(v->type.shape) * Dim(dtype_size(v->type.dtype));
    s.first = s.last = static_cast<int>(out_.steps.size());
    s.name = v->name;
    return add(std::move(s));
  }

  // A step reads or writes this storage now.
  void touch(int storage) {
    Storage& s = out_.storages[static_cast<size_t>(storage)];
    s.last = std::max(s.last, static_cast<int>(out_.steps.size()));
    last_read_[static_cast<size_t>(storage)] = static_cast<int>(out_.steps.size());
  }

  void region(const Op& op) {
    const Function& r = *fused_.get(op.attr<FunctionRef>("callee").name, op.loc);
    LoweredRegion lowered = lower_region(r, machine_);
    for (size_t i = 0; i < op.results.size(); ++i)
      storage_of_[op.results[i].get()] = choose(op, r, static_cast<int>(i));
    for (LoweredKernel& k : lowered.kernels) {
      Step step;
      step.kernel = static_cast<int>(kernels_.size());
      step.name = k.kernel.name;
      step.region = r.name;
      step.how = std::move(k.how);
      step.symbols = std::move(k.symbols);
      step.loc = op.loc;
      for (int slot : k.slots) {
        bool param = slot < r.param_count();
        const Value* v = param ? op.operand(slot) : op.result(slot - r.param_count());
        step.storages.push_back(storage_of_.at(v));
        touch(step.storages.back());
      }
      kernels_.push_back(std::move(k.kernel));
      out_.steps.push_back(std::move(step));
    }
  }

  // Where result `i` of a region goes.
  int choose(const Op& op, const Function& region, int i) {
    const Value* v = op.result(i);
    if (int param = update_target(op, region, i); param >= 0)
      return storage_of_.at(f_.param(param));
    for (int p = 0; p < region.param_count(); ++p) {
      const Value* operand = op.operand(p);
      int storage = storage_of_.at(operand);
      if (out_.storages[static_cast<size_t>(storage)].place != Storage::Place::kArena) continue;
      if (last_use(operand) > at_ || returned_.count(root(operand)) > 0) continue;
      if (shares_free(op, region, storage, p, i)) return storage;
    }
    return arena(v);
  }

  // Whether result `i` may overwrite `storage`, which parameter `p` of the region lies in: no other
  // operand or earlier result of this op may lie there, and reads must be at the written index.
  bool shares_free(const Op& op, const Function& region, int storage, int p, int i) const {
    for (int q = 0; q < region.param_count(); ++q)
      if (q != p && storage_of_.at(op.operand(q)) == storage) return false;
    for (int j = 0; j < i; ++j)
      if (storage_of_.at(op.result(j)) == storage) return false;
    return may_share(region, p, i);
  }

  // The parameter that result `i` is the new value of, where it may be written there right away.
  int update_target(const Op& op, const Function& region, int i) {
    auto found = returned_.find(op.result(i));
    if (found == returned_.end()) return -1;
    for (int r : found->second) {
      int target = out_.results[static_cast<size_t>(r)].updates;
      if (target < 0 || !(f_.param(target)->type == op.result(i)->type)) continue;
      if (updated_.count(target) > 0 || last_use(f_.param(target)) > at_) continue;
      if (returned_.count(f_.param(target)) > 0) continue;
      int storage = storage_of_.at(f_.param(target));
      bool free = true, read_here = false;
      for (int p = 0; p < region.param_count(); ++p)
        if (storage_of_.at(op.operand(p)) == storage) {
          read_here = true;
          free = free && shares_free(op, region, storage, p, i);
        }
      for (int j = 0; j < i && !read_here; ++j)
        free = free && storage_of_.at(op.result(j)) != storage;
      if (!free) continue;
      updated_.insert(target);
      return target;
    }
    return -1;
  }

  void external(const Op& op) {
    const Function& callee = *fused_.get(op.attr<FunctionRef>("callee").name, op.loc);
    TL_CHECK(callee.external.has_value(), "call of @{} is left", callee.name);
    Step step;
    char error[256];
    step.external = find_external(callee.external->symbol.c_str(), callee.external->library.c_str(),
                                  error, sizeof error);
    if (step.external == nullptr)
      compile_error(op.loc, "C function {} of @{} is not found: {}", callee.external->symbol,
                    callee.name, static_cast<const char*>(error));
    step.name = callee.name;
    step.loc = op.loc;
    step.external_inputs = static_cast<int>(op.operands.size());
    for (const Value* v : op.operands) {
      step.storages.push_back(storage_of_.at(v));
      step.external_types.push_back(v->type);
    }
    for (const auto& r : op.results) {
      storage_of_[r.get()] = arena(r.get());
      step.storages.push_back(storage_of_.at(r.get()));
      step.external_types.push_back(r->type);
    }
    for (int s : step.storages) touch(s);
    out_.steps.push_back(std::move(step));
  }

  // Whether the result is what a parameter held before this call gives it another value.
  bool is_old_value(size_t i) const {
    const Storage& s = out_.storages[static_cast<size_t>(storage_of_.at(f_.results[i]))];
    if (s.place != Storage::Place::kParam || out_.results[i].updates == s.index) return false;
    return std::any_of(out_.results.begin(), out_.results.end(),
                       [&](const Slot& slot) { return slot.updates == s.index; });
  }

  void results() {
    for (size_t i = 0; i < f_.results.size(); ++i) {
      ResultPlace place;
      place.storage = storage_of_.at(f_.results[i]);
      if (is_old_value(i)) {
        place.copy_from = place.storage;
        place.storage = arena(f_.results[i]);
      }
      Storage& s = out_.storages[static_cast<size_t>(place.storage)];
      s.last = std::max(s.last, static_cast<int>(out_.steps.size()));
      int target = out_.results[i].updates;
      if (target >= 0 && place.storage != storage_of_.at(f_.param(target)))
        place.copy_to_param = target;
      out_.places.push_back(place);
    }
  }

  const Module& fused_;
  const Function& f_;
  const loop::Machine& machine_;
  std::vector<loop::Kernel>& kernels_;
  EntryPoint out_;
  int at_ = 0;
  std::unordered_map<const Value*, int> storage_of_;
  std::unordered_map<const Value*, int> last_use_;
  std::unordered_map<const Value*, const Value*> root_;
  std::unordered_map<const Value*, std::vector<int>> returned_;
  std::vector<int> last_read_;
  std::set<int> updated_;
};

}  // namespace

EntryPoint schedule(const Module& fused, const Function& f, const loop::Machine& machine,
                    std::vector<loop::Kernel>& kernels) {
  return Scheduler(fused, f, machine, kernels).run();
}

}  // namespace tapeless
