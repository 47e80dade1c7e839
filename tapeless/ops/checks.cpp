// Checks of data at run time: one pass over the indices that vectorises, a second one only to say
// which of them is wrong.
#include "tapeless/ops/checks.h"

#include <fmt/format.h>

#include "tapeless/ir/op_def.h"

namespace tapeless {

namespace {

template <class T>
bool all_inside(const T* values, int64_t count, int64_t limit, std::optional<int64_t> except) {
  auto end = static_cast<uint64_t>(limit);
  int64_t allowed = except.value_or(-1);
  bool excepted = except.has_value();
  unsigned outside = 0;
  for (int64_t i = 0; i < count; ++i) {
    auto value = static_cast<int64_t>(values[i]);
    outside |= static_cast<unsigned>(static_cast<uint64_t>(value) >= end) &
               static_cast<unsigned>(!excepted | (value != allowed));
  }
  return outside == 0;
}

bool inside(int64_t value, int64_t limit, std::optional<int64_t> except) {
  return (value >= 0 && value < limit) || value == except;
}

bool all_inside(const Tensor& t, int64_t limit, std::optional<int64_t> except) {
  if (t.is_dense() && t.dtype() == DType::kI32)
    return all_inside(t.data<int32_t>(), t.numel(), limit, except);
  if (t.is_dense() && t.dtype() == DType::kI64)
    return all_inside(t.data<int64_t>(), t.numel(), limit, except);
  for (int64_t i = 0, n = t.numel(); i < n; ++i)
    if (!inside(t.get_int(i), limit, except)) return false;
  return true;
}

// `3`, or `[0, 3]` where there are several axes.
std::string position_str(int64_t flat, const Extents& shape) {
  if (shape.size() < 2) return std::to_string(flat);
  Extents index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; flat /= shape[axis])
    index[axis] = flat % shape[axis];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string sizes_str(const std::vector<Dim>& dims, const SymbolValues& symbols) {
  std::set<std::string> names;
  for (const Dim& d : dims) d.collect_symbols(names);
  std::string out;
  for (const std::string& name : names)
    out += fmt::format("{}{} = {}", out.empty() ? ", where " : ", ", name, symbols.at(name));
  return out;
}

}  // namespace

OpChecks checks_of(const Op& op) {
  OpChecks out;
  if (op.def().checks != nullptr) op.def().checks(op, out);
  for (const auto& r : op.results)
    for (const Dim& d : r->type.shape)
      if (d.may_be_negative())
        out.sizes.push_back(
            {.size = d,
             .message = fmt::format("a result of type {} has a negative size", r->type.str())});
  for (IndexCheck& c : out.indices) {
    c.loc = op.loc;
    c.op = op.name();
    c.name = op.operand(c.operand)->name;
  }
  for (SizeCheck& c : out.sizes) {
    c.loc = op.loc;
    c.op = op.name();
  }
  return out;
}

void check_size(const SizeCheck& check, const SymbolValues& symbols, const std::string& entry) {
  if (check.size.eval(symbols) >= check.least || check.unless_empty.eval(symbols) == 0) return;
  data_error("{}: [{}] {}{} (in a run of @{})", check.loc.str(), check.op, check.message,
             sizes_str({check.size, check.unless_empty}, symbols), entry);
}

void check_indices(const IndexCheck& check, const Tensor& indices, const SymbolValues& symbols,
                   const std::string& entry) {
  int64_t limit = check.limit.eval(symbols);
  if (all_inside(indices, limit, check.except)) return;
  int64_t at = 0;
  while (inside(indices.get_int(at), limit, check.except)) ++at;
  std::string where = position_str(at, indices.shape());
  std::string of = check.name.empty() ? std::string() : " of %" + check.name;
  int64_t value = indices.get_int(at);
  if (check.except)
    data_error(
        "{}: [{}] label {} in row {}{} is neither a class (0 to {}) nor ignore_index {} (in a "
        "run of @{})",
        check.loc.str(), check.op, value, where, of, limit - 1, *check.except, entry);
  data_error("{}: [{}] index {} at position {}{} is outside of [0, {}) (in a run of @{})",
             check.loc.str(), check.op, value, where, of, limit, entry);
}

}  // namespace tapeless
