// Structural equality of functions: one walk over both bodies.
#include "tapeless/ir/equal.h"

#include <algorithm>
#include <unordered_map>

namespace tapeless {

namespace {

bool same_attrs(const AttrMap& a, const AttrMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && same_attr(x.second, y.second);
  });
}

}  // namespace

bool structurally_equal(const Function& a, const Function& b) {
  if (a.param_types() != b.param_types() || a.roles != b.roles || a.bounds != b.bounds ||
      a.body.size() != b.body.size() || a.results.size() != b.results.size())
    return false;
  std::unordered_map<const Value*, const Value*> image;
  for (size_t i = 0; i < a.params.size(); ++i) image[a.params[i].get()] = b.params[i].get();
  auto same_values = [&](const std::vector<Value*>& x, const std::vector<Value*>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](const Value* v, const Value* w) { return image[v] == w; });
  };
  for (size_t i = 0; i < a.body.size(); ++i) {
    const Op &x = *a.body[i], &y = *b.body[i];
    if (&x.def() != &y.def() || !same_attrs(x.attrs, y.attrs) ||
        x.results.size() != y.results.size() || !same_values(x.operands, y.operands))
      return false;
    for (size_t r = 0; r < x.results.size(); ++r) {
      if (!(x.results[r]->type == y.results[r]->type)) return false;
      image[x.results[r].get()] = y.results[r].get();
    }
  }
  return same_values(a.results, b.results);
}

}  // namespace tapeless
