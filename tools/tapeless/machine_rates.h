#pragma once

#include <string>

namespace tapeless {

/// What this machine does at best, measured now: the denominators of a step's bound.
struct MachineRates {
  double flops = 0;  // f32 fused multiply-adds a second, times two
  double bytes = 0;  // read plus written by a copy, a second
};

/// Two small loops of a few milliseconds each, in the widest vectors of `cpu`.
MachineRates measure_machine(const std::string& cpu, int threads);

}  // namespace tapeless
