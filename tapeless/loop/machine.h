#pragma once

#include <cstdint>
#include <string>

#include "tapeless/loop/loop.h"

namespace tapeless::loop {

// What lowering needs to know of the machine to choose lanes, tiles and blocks. codegen's Target
// fills it in from the CPU.
struct Machine {
  std::string name = "x86-64";  // the instruction-set class: avx512, avx2, x86-64
  int vector_bytes = 16;        // 64, 32, 16
  int vector_registers = 16;    // 32, 16, 16
  bool fma = false;             // without it kFma is a slow library call: use a * b + c
  bool bf16_dot = false;        // AVX512-BF16
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;

  int lanes(Elem elem) const { return vector_bytes / elem_bytes(elem); }  // of one register
};

}  // namespace tapeless::loop
