#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tapeless/compiler/executable.h"
#include "tapeless/train/state.h"

namespace tapeless {

/// One entry point of an executable, bound to a state: its inputs by order, its key and hypers by
/// value.
class EntryCall {
 public:
  EntryCall(std::shared_ptr<const Executable> executable, std::string entry, const State& state,
            bool averaged = false);

  bool has_param(std::string_view name) const { return find_param(name) >= 0; }
  /// Binds the parameters of role input in their order; integers are cast to the type asked for.
  void set_inputs(const std::vector<Tensor>& inputs);
  void set_input(std::string_view name, const Tensor& tensor);
  /// Names of the parameters of role input.
  std::vector<std::string> input_names() const;
  void set_key(uint64_t key);
  /// Nothing where the entry does not read it.
  void set_hyper(std::string_view name, double value);

  void run() { call_.run(); }
  std::vector<Call::StepTime> run_timed() { return call_.run_timed(); }
  bool has_result(std::string_view name) const { return find_result(name) >= 0; }
  Tensor result(std::string_view name) const;
  Tensor result(int i) const { return call_.result(i); }
  /// The scalar result, converted.
  double scalar(std::string_view name) const { return result(name).get(0); }
  int64_t arena_bytes() const { return call_.arena_bytes(); }

 private:
  int find_param(std::string_view name) const;
  int find_result(std::string_view name) const;

  std::shared_ptr<const Executable> executable_;
  std::string entry_;
  Call call_;
  std::vector<int> inputs_;
  // Bound once; setting a value writes into them.
  Tensor key_;
  std::vector<Tensor> hypers_;  // by parameter; undefined where it is no hyper
};

}  // namespace tapeless
