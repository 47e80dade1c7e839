// Regions without a heavy op: one loop nest over the space of the results. Neighbouring axes that
// all values treat alike are one loop (a bias [C, 1, 1] on [N, C, H, W] gives N*C rows of H*W); the
// innermost one runs on vectors. A task is some rows, or a piece of a lone row.
#include "tapeless/lower/kernels.h"

#include <algorithm>
#include <set>

#include "tapeless/loop/vectorize.h"
#include "tapeless/ops/lowering.h"
#include "tapeless/select/tile.h"

namespace tapeless::lowering {

using loop::Body;
using loop::Expr;
using loop::i64;

namespace {

// Whether a value of this shape spans `axis` of the space it is broadcast to.
bool spans(const Shape& shape, const Shape& space, size_t axis) {
  size_t missing = space.size() - shape.size();
  return axis >= missing && !shape[axis - missing].is(1);
}

// The values that `roots` are made from, themselves included.
std::set<const Value*> made_from(std::span<Value* const> roots) {
  std::set<const Value*> seen;
  std::vector<const Value*> open(roots.begin(), roots.end());
  while (!open.empty()) {
    const Value* v = open.back();
    open.pop_back();
    if (!seen.insert(v).second || v->def == nullptr) continue;
    open.insert(open.end(), v->def->operands.begin(), v->def->operands.end());
  }
  return seen;
}

}  // namespace

std::vector<int> collapsible_runs(std::span<Value* const> roots, const Shape& space) {
  std::set<const Value*> values = made_from(roots);
  bool pointwise = std::all_of(values.begin(), values.end(), [&](const Value* v) {
    return v->type.shape.size() <= space.size() &&
           (v->def == nullptr || v->def->def().lower->pointwise);
  });
  auto alike = [&](size_t a, size_t b) {
    return std::all_of(values.begin(), values.end(), [&](const Value* v) {
      return spans(v->type.shape, space, a) == spans(v->type.shape, space, b);
    });
  };
  std::vector<int> runs;
  std::optional<size_t> last;  // of the run at hand, the latest axis that is not of size 1
  for (size_t axis = 0; axis < space.size(); ++axis) {
    bool unit = space[axis].is(1);
    if (axis > 0 && pointwise && (unit || !last || alike(axis, *last))) {
      ++runs.back();
    } else {
      runs.push_back(1);
      last.reset();
    }
    if (!unit) last = axis;
  }
  return runs;
}

void vector_loop(Body& body, const std::string& name, Expr extent, int lanes,
                 const Body::LoopFn& fn) {
  Body inner;
  Expr var = loop::var(name);
  fn(inner, var);
  loop::Stmt scalar = loop::for_loop(var, i64(0), extent, i64(1), inner.finish());
  loop::Stmt vector = loop::vectorize(scalar, lanes);
  body.add(vector ? vector : scalar);
}

void store_results(Region& region, Body& body, const Indices& index) {
  const Function& f = region.function();
  std::vector<Expr> values;
  for (const Value* r : f.results) values.push_back(body.let("y", region.element(r, index)));
  for (size_t i = 0; i < f.results.size(); ++i)
    body.store(region.result_buffer(static_cast<int>(i)),
               region.position(index, f.results[i]->type.shape), values[i]);
}

LoweredKernel lower_elementwise(const Function& function, const loop::Machine& machine) {
  Region region(function);
  const Shape& space = function.result(0)->type.shape;
  std::vector<int> runs = collapsible_runs(function.results, space);
  size_t inner_axes = runs.empty() ? 0 : static_cast<size_t>(runs.back());
  Shape outer(space.begin(), space.end() - static_cast<std::ptrdiff_t>(inner_axes));
  Shape inner(space.end() - static_cast<std::ptrdiff_t>(inner_axes), space.end());
  Expr columns = region.size(numel(inner));
  int lanes = machine.lanes(loop::Elem::kF32);
  Expr task = loop::var("task"), tasks;
  Body body;
  auto row = [&](Body& b, Expr r, Expr begin, Expr count) {
    Indices at = region.split(r, outer);
    for (Expr& i : at) i = b.let("i", i);
    vector_loop(b, "j", count, lanes, [&](Body& in, Expr j) {
      Indices index = at;
      for (const Expr& i : region.split(begin + j, inner)) index.push_back(i);
      store_results(region, in, index);
    });
  };
  if (numel(outer).is(1)) {
    Expr begin = body.let("begin", task * kTaskElements);
    row(body, i64(0), begin, loop::min(i64(kTaskElements), columns - begin));
    tasks = loop::ceil_div(columns, i64(kTaskElements));
  } else {
    Expr rows = region.size(numel(outer));
    Expr grain = loop::max(i64(1), i64(kTaskElements) / loop::max(i64(1), columns));
    Expr first = body.let("first", task * grain);
    body.loop("r", first, loop::min(rows, first + grain),
              [&](Body& b, Expr r) { row(b, r, i64(0), columns); });
    tasks = loop::ceil_div(rows, grain);
  }
  LoweredKernel out;
  out.kernel = region.kernel(tasks, task, body.finish());
  out.slots = region.slots();
  out.symbols = region.symbols();
  return out;
}

}  // namespace tapeless::lowering
