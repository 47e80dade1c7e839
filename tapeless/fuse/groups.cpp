// Grouping. Steps:
//  1. Walk forward. A pointwise op joins the group of an operand where that group's space is the
//     op's own, every operand in the group is read at the op's own index, and no other operand
//     depends on the group. Anything else starts a group. So epilogues form: bias and relu behind
//     a convolution, an optimizer's whole update of one tensor.
//  2. Walk backward. A group without a heavy op whose results are cheap to recompute, or have one
//     reader that reads each element once, dissolves into its readers: prologues.
//  3. Order the groups by what they depend on.
#include "tapeless/fuse/groups.h"

#include <algorithm>
#include <unordered_set>

#include "tapeless/fuse/cost.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/ops/ops.h"

namespace tapeless::fusion {

namespace {

bool is_heavy(const Op& op) {
  const Lowering* lower = op.def().lower;
  return lower != nullptr && (lower->reduction || lower->contraction || lower->scatter);
}

// A random tensor is always made again where it is read: its cost buys not storing it.
constexpr int kCheap = 4;        // recomputed for any number of readers
constexpr int kPackingCost = 1;  // a contraction reads an element several times, or in place

// Which groups a group needs, directly or not: a row of bits a group.
class Ancestors {
 public:
  void open() {
    rows_.emplace_back((rows_.size() >> 6) + 1, 0);
    needed_.push_back(false);
  }
  bool needs(int group, int other) const {
    const Row& row = rows_[static_cast<size_t>(group)];
    auto word = static_cast<size_t>(other) >> 6;
    return word < row.size() && (row[word] >> (other & 63) & 1) != 0;
  }
  // `group`, and all that need it, from now on need `other` and what it needs.
  void add(int group, int other) {
    Row gained = rows_[static_cast<size_t>(other)];
    gained.resize(std::max(gained.size(), (static_cast<size_t>(other) >> 6) + 1));
    gained[static_cast<size_t>(other) >> 6] |= uint64_t{1} << (other & 63);
    needed_[static_cast<size_t>(other)] = true;
    merge(rows_[static_cast<size_t>(group)], gained);
    if (!needed_[static_cast<size_t>(group)]) return;
    for (size_t g = 0; g < rows_.size(); ++g)
      if (needs(static_cast<int>(g), group)) merge(rows_[g], gained);
  }

 private:
  using Row = std::vector<uint64_t>;
  static void merge(Row& row, const Row& gained) {
    if (row.size() < gained.size()) row.resize(gained.size());
    for (size_t i = 0; i < gained.size(); ++i) row[i] |= gained[i];
  }

  std::vector<Row> rows_;
  std::vector<bool> needed_;  // by some group
};

class Grouper {
 public:
  explicit Grouper(const Function& f) : f_(f) {}

  Groups run() {
    for (const auto& op : f_.body) place(*op);
    find_readers();
    for (size_t i = out_.groups.size(); i-- > 0;) dissolve(static_cast<int>(i));
    return order();
  }

 private:
  int of(const Value* value) const { return value->def ? out_.group_of.at(value->def) : -1; }

  void place(const Op& op) {
    int into = choose(op);
    if (into < 0) into = open(op);
    out_.groups[static_cast<size_t>(into)].ops.push_back(&op);
    out_.group_of[&op] = into;
    for (const Value* v : op.operands)
      if (int from = of(v); from >= 0 && from != into && !ancestors_.needs(into, from))
        ancestors_.add(into, from);
  }

  // The latest group that the op may join; -1 for none.
  int choose(const Op& op) const {
    std::vector<int> from;
    for (const Value* v : op.operands) from.push_back(of(v));
    std::sort(from.rbegin(), from.rend());
    for (int into : from)
      if (into >= 0 && joins(op, into)) return into;
    return -1;
  }

  int open(const Op& op) {
    Group g;
    g.alone = stands_alone(op);
    if (!g.alone) g.space = op.result_type().shape;
    if (is_heavy(op)) g.heavy = &op;
    out_.groups.push_back(std::move(g));
    ancestors_.open();
    return static_cast<int>(out_.groups.size()) - 1;
  }

  bool joins(const Op& op, int into) const {
    const Group& g = out_.groups[static_cast<size_t>(into)];
    if (g.alone || stands_alone(op) || is_heavy(op) || !op.def().lower->pointwise) return false;
    if (g.heavy != nullptr && g.heavy->def().lower->scatter != nullptr) return false;
    if (!(op.result_type().shape == g.space)) return false;
    return std::all_of(op.operands.begin(), op.operands.end(), [&](const Value* v) {
      int from = of(v);
      return from == into ? v->type.shape == g.space : from < 0 || !ancestors_.needs(from, into);
    });
  }

  void find_readers() {
    for (const auto& op : f_.body) {
      for (const Value* v : op->operands) readers_[v].push_back(op.get());
      position_[op.get()] = static_cast<int>(position_.size());
      runs_in_[op.get()] = {out_.group_of.at(op.get())};
    }
    returned_.insert(f_.results.begin(), f_.results.end());
  }

  bool leaves(const Value* v) const { return returned_.count(v) > 0; }

  // Dissolves the group into its readers where every reader may take it.
  void dissolve(int index) {
    Group& g = out_.groups[static_cast<size_t>(index)];
    if (g.alone || g.heavy != nullptr) return;
    int cost = 0;
    for (const Op* op : g.ops) cost += element_cost(*op);
    std::vector<int> takers;
    for (const Op* op : g.ops)
      for (const auto& r : op->results) {
        if (leaves(r.get())) return;
        for (const Op* reader : readers_[r.get()])
          for (int to : runs_in_[reader]) {
            if (to == index || out_.groups[static_cast<size_t>(to)].dissolved) continue;
            if (!may_take(to, *reader, g, cost)) return;
            if (!holds(takers, to)) takers.push_back(to);
          }
      }
    bool random = std::any_of(g.ops.begin(), g.ops.end(), [](const Op* op) {
      return !op->operands.empty() && op->operand_type(0).dtype == DType::kKey;
    });
    if (takers.empty() || (takers.size() > 1 && cost > kCheap && !random)) return;
    g.dissolved = true;
    for (int to : takers) {
      Group& taker = out_.groups[static_cast<size_t>(to)];
      for (size_t i = g.ops.size(); i-- > 0;) {
        auto& groups = runs_in_[g.ops[i]];
        if (!reads(taker, *g.ops[i]) || holds(groups, to)) continue;
        groups.push_back(to);
        taker.ops.push_back(g.ops[i]);
      }
      sort(taker.ops);
    }
  }

  static bool holds(const std::vector<int>& groups, int group) {
    return std::find(groups.begin(), groups.end(), group) != groups.end();
  }

  // Whether an op of the group reads a result of `op`.
  bool reads(const Group& group, const Op& op) const {
    return std::any_of(group.ops.begin(), group.ops.end(), [&](const Op* reader) {
      return std::any_of(reader->operands.begin(), reader->operands.end(),
                         [&](const Value* v) { return v->def == &op; });
    });
  }

  // Whether `reader` in group `to` may compute the elements of `g` itself.
  bool may_take(int to, const Op& reader, const Group& g, int cost) const {
    const Group& taker = out_.groups[static_cast<size_t>(to)];
    if (taker.alone) return false;
    // What is read on the way to the heavy op is read as often as the heavy op reads.
    bool above = taker.heavy != nullptr && position_.at(&reader) <= position_.at(taker.heavy);
    const Lowering* lower = above ? taker.heavy->def().lower : reader.def().lower;
    if (lower->scatter != nullptr) return false;
    if (lower->contraction != nullptr) return cost <= kPackingCost;
    if (lower->reduction != nullptr) return cost <= kCheap || !lower->reduction->window;
    // A smaller value is read many times over.
    bool stretched = !(numel(g.space) == numel(reader.result_type().shape));
    return !stretched || cost <= kCheap;
  }

  void sort(std::vector<const Op*>& ops) const {
    std::sort(ops.begin(), ops.end(),
              [&](const Op* a, const Op* b) { return position_.at(a) < position_.at(b); });
  }

  // Groups sorted so that each comes after those that it reads from; ties keep program order.
  Groups order() {
    size_t n = out_.groups.size();
    std::vector<bool> done(n, false);
    Groups sorted;
    for (size_t placed = 0; placed < n; ++placed) {
      size_t next = 0;
      while (next < n && (done[next] || !ready(next, done))) ++next;
      TL_CHECK(next < n, "groups of @{} need one another", f_.name);
      done[next] = true;
      for (const Op* op : out_.groups[next].ops)
        if (out_.group_of.at(op) == static_cast<int>(next))
          sorted.group_of[op] = static_cast<int>(placed);
      sorted.groups.push_back(std::move(out_.groups[next]));
    }
    return sorted;
  }

  bool ready(size_t group, const std::vector<bool>& done) const {
    for (const Op* op : out_.groups[group].ops)
      for (const Value* v : op->operands) {
        int from = of(v);
        if (from >= 0 && from != static_cast<int>(group) && !done[static_cast<size_t>(from)])
          return false;
      }
    return true;
  }

  const Function& f_;
  Groups out_;
  Ancestors ancestors_;
  std::unordered_map<const Value*, std::vector<const Op*>> readers_;
  std::unordered_map<const Op*, std::vector<int>> runs_in_;  // groups that hold the op
  std::unordered_map<const Op*, int> position_;
  std::unordered_set<const Value*> returned_;
};

}  // namespace

bool stands_alone(const Op& op) {
  if (op.is(kCallOp)) return true;
  if (op.is(kConstantOp)) return op.attr<Tensor>("value").rank() > 0;
  TL_CHECK(op.def().lower != nullptr, "op {} has no lowering", op.name());
  return op.def().lower->alias;
}

Groups separate(const Function& f) {
  Groups out;
  for (const auto& op : f.body) {
    Group g;
    g.ops = {op.get()};
    g.alone = stands_alone(*op);
    if (!g.alone) g.space = op->result_type().shape;
    if (!g.alone && is_heavy(*op)) g.heavy = op.get();
    out.group_of[op.get()] = static_cast<int>(out.groups.size());
    out.groups.push_back(std::move(g));
  }
  return out;
}

Groups group(const Function& f) { return Grouper(f).run(); }

}  // namespace tapeless::fusion
