// lower_region: the kind of a region decides which file makes its kernels.
#include "tapeless/lower/lower.h"

#include <algorithm>

#include "tapeless/lower/kernels.h"

namespace tapeless {

namespace lowering {

const Op* heavy_op(const Function& region) {
  for (const auto& op : region.body)
    if (op->def().lower->element == nullptr) return op.get();
  return nullptr;
}

namespace {

// Only float products have register tiles; integers are summed one by one.
bool has_tiles(const Op& op) {
  return op.result_type().dtype == DType::kF32 || op.result_type().dtype == DType::kF64;
}

// The parameters and heavy operands whose elements are read at other indices than the one that is
// stored: everything above a heavy op, and above a read that is not pointwise.
bool read_elsewhere(const Value* v, const Value* param, bool exact, const Shape& space) {
  if (v == param) return !exact || !(v->type.shape == space);
  if (v->def == nullptr) return false;
  const Lowering& lower = *v->def->def().lower;
  bool still = exact && lower.element != nullptr && lower.pointwise && v->type.shape == space;
  return std::any_of(v->def->operands.begin(), v->def->operands.end(),
                     [&](const Value* o) { return read_elsewhere(o, param, still, space); });
}

}  // namespace

}  // namespace lowering

LoweredRegion lower_region(const Function& region, const loop::Machine& machine) {
  using namespace lowering;
  TL_CHECK(!region.results.empty(), "region @{} has no results", region.name);
  const Op* heavy = heavy_op(region);
  LoweredRegion out;
  const char* kind = "reduction";
  if (heavy == nullptr) {
    kind = "elementwise";
    out.kernels.push_back(lower_elementwise(region, machine));
  } else if (heavy->def().lower->scatter != nullptr) {
    kind = "scatter";
    out.kernels = lower_scatter(region, *heavy, machine);
  } else if (heavy->def().lower->contraction != nullptr && has_tiles(*heavy)) {
    out.kernels.push_back(lower_contraction(region, *heavy, machine));
  } else {
    out.kernels.push_back(lower_reduction(region, *heavy, machine));
  }
  for (LoweredKernel& k : out.kernels) {
    if (k.how.empty()) k.how = kind;
    int count = static_cast<int>(out.kernels.size());
    if (count > 1) k.kernel.name += "_" + std::to_string(&k - out.kernels.data());
  }
  return out;
}

bool may_share(const Function& region, int param, int result) {
  const Value* p = region.param(param);
  const Value* r = region.result(result);
  if (!(p->type == r->type)) return false;
  return std::none_of(region.results.begin(), region.results.end(), [&](const Value* v) {
    return lowering::read_elsewhere(v, p, true, r->type.shape);
  });
}

}  // namespace tapeless
