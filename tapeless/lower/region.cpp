// The elements of a region's values as loop expressions, with index arithmetic undone where it
// cancels. See region.h.
#include "tapeless/lower/region.h"

#include <algorithm>

#include "tapeless/ops/ops.h"

namespace tapeless::lowering {

using loop::Expr;

namespace {

bool is_half(loop::Elem e) { return e == loop::Elem::kBF16 || e == loop::Elem::kF16; }

// 16-bit floats are storage: ops compute on them in f32, and their results are rounded back.
Expr widened(Expr x) { return is_half(x->type.elem) ? loop::cast(loop::Elem::kF32, x) : x; }

Expr stored(Expr x, DType dtype) {
  loop::Elem elem = loop::elem_of(dtype);
  return is_half(elem) && x->type.elem != elem ? loop::cast(elem, x) : x;
}

}  // namespace

Expr OperandElements::operand(int i, const Indices& index, Expr mask) {
  if (mask_) mask = mask ? mask_ & mask : mask_;
  return widened(region_.element(op.operand(i), index, mask));
}

Expr OperandElements::operand_flat(int i, Expr position) {
  if (!mask_) return widened(region_.element_at(op.operand(i), position));
  return operand(i, region_.split(position, op.operand_type(i).shape), {});
}

Expr Region::symbol(const std::string& name) {
  auto [at, fresh] = sizes_.emplace(name, Expr());
  if (fresh) {
    at->second = loop::var(name[0] == '@' ? name.substr(1) : name);
    symbols_.push_back(name);
    symbol_vars_.push_back(at->second);
  }
  return at->second;
}

Expr Region::size(const Dim& dim) {
  auto [at, fresh] = dims_.emplace(dim.str(), Expr());
  if (fresh)
    at->second = dim.fold<Expr>([](int64_t n) { return loop::i64(n); },
                                [&](const std::string& name) { return symbol(name); },
                                [](Expr a, int64_t n) { return a / n; });
  return at->second;
}

Indices Region::split(Expr flat, const Shape& shape) {
  Indices index;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].is(1)) {
      index.push_back(loop::i64(0));
      continue;
    }
    Dim inner = numel(std::span(shape).subspan(axis + 1));
    if (inner.is(1)) {
      index.push_back(flat);
      flat = loop::i64(0);
      continue;
    }
    Expr quotient = flat / size(inner), remainder = flat % size(inner);
    kept_.insert(kept_.end(), {quotient, remainder});
    splits_[remainder.get()] = {quotient.get(), remainder, flat, inner};
    index.push_back(quotient);
    flat = remainder;
  }
  return index;
}

Expr Region::position(const Indices& index, const Shape& shape) {
  TL_CHECK(index.size() == shape.size(), "index of rank {} into {}", index.size(),
           shape_str(shape));
  struct Axis {
    Dim extent;
    Expr index;
  };
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!shape[i].is(1)) axes.push_back({shape[i], index[i]});
  for (size_t i = axes.size(); i-- > 1;) {
    auto found = splits_.find(axes[i].index.get());
    if (found == splits_.end() || found->second.quotient != axes[i - 1].index.get() ||
        !(found->second.extent == axes[i].extent))
      continue;
    axes[i - 1] = {axes[i - 1].extent * axes[i].extent, found->second.parent};
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  Expr at = loop::i64(0);
  for (const Axis& axis : axes) at = at * size(axis.extent) + axis.index;
  return at;
}

Expr Region::element(const Value* value, const Indices& index, Expr mask) {
  if (auto bound = bound_.find(value); bound != bound_.end()) return bound->second;
  if (value->def == nullptr)
    return loop::load(param_buffer(value->index), position(index, value->type.shape), mask);
  std::vector<const void*> key = {value, mask.get()};
  for (const Expr& i : index) key.push_back(i.get());
  if (auto found = memo_.find(key); found != memo_.end()) return found->second;
  const Op& op = *value->def;
  TL_CHECK(op.def().lower->element != nullptr, "op {} has no elements here", op.name());
  OperandElements elements(*this, op, mask);
  Expr e = op.def().lower->element(elements, value->index, index);
  if (mask) e = loop::select(mask, e, loop::literal_like(e, 0));
  e = stored(e, value->type.dtype);
  kept_.insert(kept_.end(), index.begin(), index.end());
  kept_.push_back(mask);
  memo_[key] = e;
  return e;
}

Expr Region::element_at(const Value* value, Expr position) {
  if (auto bound = bound_.find(value); bound != bound_.end()) return bound->second;
  if (value->def == nullptr) return loop::load(param_buffer(value->index), position);
  return element(value, split(position, value->type.shape));
}

void Region::bind(const Value* value, Expr expr) {
  memo_.clear();
  if (expr)
    bound_[value] = std::move(expr);
  else
    bound_.erase(value);
}

loop::Buffer Region::slot_buffer(int slot, const Value* value, bool written) {
  auto [at, fresh] = buffers_.emplace(slot, nullptr);
  if (fresh) {
    std::string name = value->name.empty() ? "v" + std::to_string(slot) : value->name;
    at->second = loop::buffer(name, loop::elem_of(value->type.dtype),
                              written ? loop::Access::kReadWrite : loop::Access::kRead);
    ordered_.push_back(at->second);
    slots_.push_back(slot);
  }
  return at->second;
}

loop::Buffer Region::param_buffer(int i) { return slot_buffer(i, function_.param(i), false); }

loop::Buffer Region::result_buffer(int i) {
  return slot_buffer(function_.param_count() + i, function_.result(i), true);
}

loop::Buffer Region::scratch(const std::string& name, loop::Elem elem, Expr elements) {
  Expr offset = scratch_bytes_ ? scratch_bytes_ : loop::i64(0);
  loop::Buffer buffer = loop::buffer(name, elem, loop::Access::kScratch, offset);
  ordered_.push_back(buffer);
  scratch_bytes_ = offset + (elements * loop::elem_bytes(elem) + 63) / 64 * 64;
  return buffer;
}

loop::Kernel Region::kernel(Expr tasks, Expr task, loop::Stmt body) {
  loop::Kernel k;
  k.name = function_.name;
  k.buffers = ordered_;
  k.sizes = symbol_vars_;
  k.scratch_bytes = scratch_bytes_;
  k.tasks = std::move(tasks);
  k.task = std::move(task);
  k.body = std::move(body);
  return k;
}

}  // namespace tapeless::lowering
