// fuse: a flat function -> a sequence of regions. The grouping is made in groups.cpp; here each
// group becomes a function over the values that enter it, with those that leave it as results.
#include "tapeless/fuse/fuse.h"

#include <algorithm>
#include <unordered_set>

#include "tapeless/fuse/groups.h"
#include "tapeless/ir/clone.h"
#include "tapeless/ops/ops.h"

namespace tapeless {

namespace {

using fusion::Group;
using fusion::Groups;

std::string region_name(const Function& f, const Group& group) {
  std::string name = f.name;
  int listed = 0;
  for (const Op* op : group.ops) {
    if (op->is(kConstantOp)) continue;
    if (++listed > 4) break;
    name += (listed == 1 ? "." : "_") + std::string(op->name());
  }
  return listed == 0 ? name + ".constant" : name;
}

class Splitter {
 public:
  Splitter(const Function& f, const Groups& groups, Module& out)
      : f_(f), groups_(groups), out_(out) {
    for (const auto& op : f.body)
      for (const Value* v : op->operands) readers_[v].push_back(op.get());
    results_.insert(f.results.begin(), f.results.end());
    for (const Group& group : groups.groups)
      if (!group.dissolved)
        for (const Op* op : group.ops) runs_in_[op].push_back(&group);
  }

  std::unique_ptr<Function> run() {
    auto to = clone_signature(f_, map_);
    Builder b(*to, &out_);
    for (const Group& group : groups_.groups) {
      if (group.dissolved) continue;
      if (group.alone)
        clone_op(b, *group.ops[0], map_);
      else
        call_region(b, group);
    }
    for (size_t i = 0; i < f_.results.size(); ++i)
      to->add_result(map_[f_.results[i]], f_.result_names[i]);
    return to;
  }

 private:
  // A value leaves the group that owns it where another group reads it without holding a copy of
  // its op.
  bool leaves(const Value* v, const Group& group) const {
    if (results_.count(v) > 0) return true;
    auto found = readers_.find(v);
    if (found == readers_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const Op* reader) {
      return !holds(group, reader) && needs_from_outside(v, reader);
    });
  }

  bool holds(const Group& group, const Op* op) const {
    const auto& groups = runs_in_.at(op);
    return std::find(groups.begin(), groups.end(), &group) != groups.end();
  }

  // Some group runs `reader` without running v's definition.
  bool needs_from_outside(const Value* v, const Op* reader) const {
    const auto& groups = runs_in_.at(reader);
    return std::any_of(groups.begin(), groups.end(),
                       [&](const Group* g) { return !holds(*g, v->def); });
  }

  bool owns(const Group& group, const Op* op) const {
    return &groups_.groups[static_cast<size_t>(groups_.group_of.at(op))] == &group;
  }

  void call_region(Builder& b, const Group& group) {
    auto region = std::make_unique<Function>(out_.fresh_name(region_name(f_, group)));
    region->bounds = f_.bounds;
    region->loc = group.ops.back()->loc;
    ValueMap inside;
    std::vector<Value*> operands;
    Builder rb(*region, &out_);
    for (const Op* op : group.ops)
      for (const Value* v : op->operands) {
        if (inside.find(v) != nullptr || (v->def != nullptr && holds(group, v->def))) continue;
        inside.set(v, region->add_param(param_name(*region, v), v->type, Role::kInput));
        operands.push_back(map_[v]);
      }
    for (const Op* op : group.ops) clone_op(rb, *op, inside);
    std::vector<const Value*> out;
    for (const Op* op : group.ops)
      for (const auto& r : op->results)
        if (owns(group, op) && leaves(r.get(), group)) {
          region->add_result(inside[r.get()]);
          out.push_back(r.get());
        }
    std::string name = region->name;
    out_.functions.push_back(std::move(region));
    b.set_loc(group.ops.back()->loc);
    Op* call = b.make_op(kFusedOp, std::move(operands), {{"callee", FunctionRef{name}}});
    for (size_t i = 0; i < out.size(); ++i) {
      call->results[i]->name = out[i]->name;
      map_.set(out[i], call->results[i].get());
    }
  }

  static std::string param_name(const Function& region, const Value* v) {
    std::string base = v->name.empty() ? "in" : v->name;
    std::string name = base;
    for (int i = 2; region.find_param(name) != nullptr; ++i) name = base + "_" + std::to_string(i);
    return name;
  }

  const Function& f_;
  const Groups& groups_;
  Module& out_;
  ValueMap map_;
  std::unordered_map<const Value*, std::vector<const Op*>> readers_;
  std::unordered_map<const Op*, std::vector<const Group*>> runs_in_;  // live groups only
  std::unordered_set<const Value*> results_;
};

}  // namespace

Module fuse(const Module& module, bool merge) {
  Module out;
  out.stage = Stage::kFused;
  for (const auto& f : module.functions)
    if (!f->has_body()) out.functions.push_back(clone(*f));
  for (const auto& f : module.functions) {
    if (!f->has_body()) continue;
    Groups groups = merge ? fusion::group(*f) : fusion::separate(*f);
    auto cut = Splitter(*f, groups, out).run();
    out.functions.push_back(std::move(cut));
  }
  return out;
}

}  // namespace tapeless
