#pragma once

#include <random>
#include <string>
#include <vector>

#include "tapeless/ir/op_def.h"
#include "tapeless/tensor/tensor.h"

// The samples of ops (OpDef::cases) as programs: what the generated tests share.
namespace tapeless {

/// One op alone in a function: `func @sample(%x0: ..., %x1: ...) -> (...) { return op %x0, %x1 }`.
struct Sample {
  const OpDef* def = nullptr;
  const OpCase* spec = nullptr;
  Module module;

  const Function& function() const { return *module.find("sample"); }
};

enum class Precision { kAsWritten, kF64 };

/// With kF64 every f32 of the case is read as f64.
Sample make_sample(const OpDef& def, const OpCase& spec, Precision precision);

/// Tensors for the parameters of `function`, by the ranges of the case.
std::vector<Tensor> draw_arguments(const Function& function, const OpCase& spec,
                                   std::mt19937_64& generator);

/// Whether an operand or a result is a row-sparse matrix: such functions are not run alone.
bool has_row_sparse(const Module& module);

/// Specializes the sample where that is still to do; returns the name of its function.
std::string in_mode(Module& module, Mode mode);
/// The modes in which the op can be run.
std::vector<Mode> modes_of(const OpDef& def);

}  // namespace tapeless
