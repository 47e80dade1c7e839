// Regions around a scatter: the base is copied into the result, then the updates are added in their
// order. Tasks share the inner space, so that no two of them write the same element.
#include "tapeless/lower/kernels.h"
#include "tapeless/select/tile.h"

namespace tapeless::lowering {

using loop::Body;
using loop::Expr;
using loop::i64;

namespace {

LoweredKernel copy_base(const Function& function, const Op& op, const loop::Machine& machine) {
  Region region(function);
  Expr task = loop::var("task");
  Expr extent = region.size(numel(op.result_type().shape));
  Body body;
  Expr begin = body.let("begin", task * kTaskElements);
  vector_loop(body, "j", loop::min(i64(kTaskElements), extent - begin),
              machine.lanes(loop::Elem::kF32), [&](Body& in, Expr j) {
                Expr at = begin + j;
                in.store(region.result_buffer(0), at, region.element_at(op.operand(0), at));
              });
  LoweredKernel out;
  out.kernel = region.kernel(loop::ceil_div(extent, i64(kTaskElements)), task, body.finish());
  out.slots = region.slots();
  out.symbols = region.symbols();
  return out;
}

LoweredKernel add_updates(const Function& function, const Op& op, const loop::Machine& machine) {
  const Scatter& how = *op.def().lower->scatter;
  Region region(function);
  Shape outer = how.outer(op), inner = how.inner(op);
  Expr task = loop::var("task");
  Expr width = region.size(numel(inner));
  int lanes = machine.lanes(loop::Elem::kF32);
  int64_t chunk = 4 * lanes;
  Body body;
  Expr begin = body.let("begin", task * chunk);
  Expr count = body.let("count", loop::min(i64(chunk), width - begin));
  body.loop("u", i64(0), region.size(numel(outer)), [&](Body& b, Expr u) {
    Indices at = region.split(u, outer);
    for (Expr& i : at) i = b.let("i", i);
    vector_loop(b, "j", count, lanes, [&](Body& in, Expr j) {
      OperandElements elements(region, op);
      Indices column = region.split(begin + j, inner);
      Expr target =
          in.let("to", region.position(how.target(elements, at, column), op.result_type().shape));
      auto add = [&](Body& to) {
        Expr old = loop::load(region.result_buffer(0), target);
        to.store(region.result_buffer(0), target, old + how.value(elements, at, column));
      };
      if (how.valid != nullptr)
        in.when(how.valid(elements, at, column), add);
      else
        add(in);
    });
  });
  LoweredKernel out;
  out.kernel = region.kernel(loop::ceil_div(width, i64(chunk)), task, body.finish());
  out.slots = region.slots();
  out.symbols = region.symbols();
  return out;
}

}  // namespace

std::vector<LoweredKernel> lower_scatter(const Function& region, const Op& op,
                                         const loop::Machine& machine) {
  return {copy_base(region, op, machine), add_updates(region, op, machine)};
}

}  // namespace tapeless::lowering
