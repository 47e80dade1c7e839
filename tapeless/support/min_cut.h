#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapeless {

/// The cheapest set of edges that separates node 0 (source) from node 1 (sink) of a directed graph:
/// Dinic's maximum flow. Of several cheapest cuts it is the one nearest to the sink.
class MinCut {
 public:
  static constexpr int kSource = 0, kSink = 1;
  static constexpr int64_t kInfinite = int64_t{1} << 60;

  MinCut() : edges_of_(2) {}
  int add_node();
  void add_edge(int from, int to, int64_t capacity);
  /// The capacity of the cut; kInfinite or more where nothing separates.
  int64_t solve();
  /// After solve: the node can still reach the sink.
  bool on_sink_side(int node) const { return sink_side_[static_cast<std::size_t>(node)]; }

 private:
  struct Edge {
    int to;
    int64_t left;
  };
  bool find_levels();
  int64_t push(int node, int64_t limit);
  void find_sink_side();

  std::vector<Edge> edges_;  // edge i and its reverse i ^ 1
  std::vector<std::vector<int>> edges_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
  std::vector<bool> sink_side_;
};

}  // namespace tapeless
