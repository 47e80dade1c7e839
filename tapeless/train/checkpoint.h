#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tapeless/data/loader.h"
#include "tapeless/import/safetensors.h"

namespace tapeless {

/// What a run needs besides its tensors to go on bit for bit.
struct RunState {
  std::string name;
  int64_t step = 0;
  int64_t epoch = 0;
  uint64_t key = 0;
  DataPosition data;
  /// What else the trainer remembers, such as the best loss. Finite.
  std::map<std::string, double, std::less<>> numbers;
};

struct Checkpoint {
  TensorMap model;
  TensorMap optimizer;
  RunState run;
};

/// Writes model.safetensors, optimizer.safetensors and run.json into a folder beside, syncs it and
/// puts it in the place of `folder`. Where that fails (DataError), an older checkpoint stays whole.
void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint);

/// Reads a checkpoint and compares each file with the size and CRC-32 in run.json. A folder that is
/// none, is incomplete or was changed is a DataError. Without the optimizer only the model is read.
Checkpoint load_checkpoint(const std::string& folder, bool with_optimizer = true);

/// A DataError that says which tensors differ, where names and types are not those expected.
void check_tensors(const std::string& source, const TensorMap& tensors, const TensorMap& expected);

}  // namespace tapeless
