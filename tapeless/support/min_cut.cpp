// Dinic's algorithm: shortest augmenting paths in layers, until the sink is cut off.
#include "tapeless/support/min_cut.h"

#include <algorithm>

#include "tapeless/support/check.h"

namespace tapeless {

int MinCut::add_node() {
  edges_of_.emplace_back();
  return static_cast<int>(edges_of_.size()) - 1;
}

void MinCut::add_edge(int from, int to, int64_t capacity) {
  edges_of_[static_cast<size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[static_cast<size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::find_levels() {
  level_.assign(edges_of_.size(), -1);
  level_[kSource] = 0;
  std::vector<int> queue = {kSource};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int e : edges_of_[static_cast<size_t>(queue[head])]) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      if (edge.left == 0 || level_[static_cast<size_t>(edge.to)] >= 0) continue;
      level_[static_cast<size_t>(edge.to)] = level_[static_cast<size_t>(queue[head])] + 1;
      queue.push_back(edge.to);
    }
  return level_[kSink] >= 0;
}

int64_t MinCut::push(int node, int64_t limit) {
  if (node == kSink) return limit;
  auto at = static_cast<size_t>(node);
  for (; next_[at] < edges_of_[at].size(); ++next_[at]) {
    auto e = static_cast<size_t>(edges_of_[at][next_[at]]);
    Edge& edge = edges_[e];
    if (edge.left == 0 || level_[static_cast<size_t>(edge.to)] != level_[at] + 1) continue;
    int64_t pushed = push(edge.to, std::min(limit, edge.left));
    if (pushed == 0) continue;
    edge.left -= pushed;
    edges_[e ^ 1].left += pushed;
    return pushed;
  }
  return 0;
}

int64_t MinCut::solve() {
  int64_t flow = 0;
  while (flow < kInfinite && find_levels()) {
    next_.assign(edges_of_.size(), 0);
    while (int64_t pushed = push(kSource, kInfinite)) {
      flow += pushed;
      if (flow >= kInfinite) return flow;
    }
  }
  find_sink_side();
  return flow;
}

// Backwards from the sink over edges with capacity left.
void MinCut::find_sink_side() {
  sink_side_.assign(edges_of_.size(), false);
  sink_side_[kSink] = true;
  std::vector<int> queue = {kSink};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int e : edges_of_[static_cast<size_t>(queue[head])]) {
      const Edge& reverse = edges_[static_cast<size_t>(e) ^ 1];
      int from = edges_[static_cast<size_t>(e)].to;
      if (reverse.left == 0 || sink_side_[static_cast<size_t>(from)]) continue;
      sink_side_[static_cast<size_t>(from)] = true;
      queue.push_back(from);
    }
}

}  // namespace tapeless
