// Regions around a reduction. Two orders of loops:
//   across   the last axis of the operand is reduced: vectors run along it, in fixed lanes that a
//            binary tree combines at the end of each innermost run
//   along    vectors run along the last axis of the result, each lane one chain
// Also contractions of elements that have no register tiles (integers, 16-bit floats).
// Bits depend on sizes alone: lanes are fixed, and threads share results, never one result.
#include "tapeless/lower/kernels.h"

#include <algorithm>
#include <cmath>

#include "tapeless/loop/vectorize.h"
#include "tapeless/ops/infer.h"
#include "tapeless/select/tile.h"

namespace tapeless::lowering {

using loop::Body;
using loop::Expr;
using loop::i64;
using loop::Prim;

namespace {

constexpr int kReduceLanes = 64;  // four chains of AVX-512; the same on every machine

Prim combiner(Reduction::Kind kind) {
  switch (kind) {
    case Reduction::Kind::kSum:
      return Prim::kAdd;
    case Reduction::Kind::kProd:
      return Prim::kMul;
    case Reduction::Kind::kMax:
    case Reduction::Kind::kArgMax:
      return Prim::kMax;
    case Reduction::Kind::kMin:
    case Reduction::Kind::kArgMin:
      return Prim::kMin;
  }
  return Prim::kAdd;
}

bool is_arg(Reduction::Kind kind) {
  return kind == Reduction::Kind::kArgMax || kind == Reduction::Kind::kArgMin;
}

class Reducer {
 public:
  Reducer(const Function& function, const Op& op, const loop::Machine& machine)
      : region_(function), op_(op), machine_(machine) {
    if (const Reduction* r = op.def().lower->reduction) {
      kind_ = r->kind;
      finish_ = r->finish;
      extents_ = r->extents(op);
    } else {
      check_order(*op.def().lower->contraction);
      extents_ = op.def().lower->contraction->spaces(op).k;
    }
    find_runs();
  }

  LoweredKernel lower() {
    Expr task = loop::var("task");
    Body body;
    Expr tasks = across() ? rows(body, task) : columns(body, task);
    LoweredKernel out;
    out.kernel = region_.kernel(tasks, task, body.finish());
    out.slots = region_.slots();
    out.symbols = region_.symbols();
    return out;
  }

 private:
  // Reduced axes that follow one another are one loop, whatever the operand is made of: lanes count
  // along it, so that anything else would give other bits under fusion.
  void find_runs() {
    if (op_.def().find_attr("axes") == nullptr) {
      runs_.assign(extents_.size(), 1);
      return;
    }
    Ints axes = infer::reduced_axes(op_.attrs, op_.operand_type(0).rank());
    last_axis_reduced_ = !axes.empty() && axes.back() == op_.operand_type(0).rank() - 1;
    for (size_t i = 0; i < axes.size(); ++i) {
      bool joins = i > 0 && axes[i] == axes[i - 1] + 1;
      joins ? (void)++runs_.back() : runs_.push_back(1);
    }
  }

  bool across() const { return last_axis_reduced_ || numel(op_.result_type().shape).is(1); }

  const Shape& space() const { return op_.result_type().shape; }

  // One result: the reduced loops, then the epilogue and the stores.
  void one(Body& b, const Indices& at, bool vectors_across) {
    loop::Type type = scalar_type(op_.operand_type(0).dtype);
    if (type.elem == loop::Elem::kBF16 || type.elem == loop::Elem::kF16)
      type.elem = loop::Elem::kF32;
    type_ = type;
    acc_ = b.make_local("acc", type);
    b.store_local(acc_, 0, start());
    if (is_arg(kind_)) {
      best_ = b.make_local("best", {loop::Elem::kI64});
      b.store_local(best_, 0, i64(0));
    }
    Indices reduced;
    nest(b, at, reduced, 0, 0, vectors_across && !is_arg(kind_));
    Expr value = is_arg(kind_) ? loop::load_local(best_) : loop::load_local(acc_);
    finish(b, value, at);
  }

  Expr start() const { return loop::identity(combiner(kind_), type_); }

  void nest(Body& b, const Indices& at, Indices& reduced, size_t run, size_t axis, bool vectors) {
    if (run == runs_.size()) {
      accumulate(b, at, reduced);
      return;
    }
    auto length = static_cast<size_t>(runs_[run]);
    Shape shape(extents_.begin() + static_cast<std::ptrdiff_t>(axis),
                extents_.begin() + static_cast<std::ptrdiff_t>(axis + length));
    auto each = [&](Body& in, Expr j) {
      size_t mark = reduced.size();
      for (const Expr& i : region_.split(j, shape)) reduced.push_back(i);
      nest(in, at, reduced, run + 1, axis + length, vectors);
      reduced.resize(mark);
    };
    Expr extent = region_.size(numel(shape));
    if (vectors && run + 1 == runs_.size())
      vector_loop(b, "k", extent, kReduceLanes, each);
    else
      b.loop("k", i64(0), extent, each);
  }

  void accumulate(Body& b, const Indices& at, const Indices& reduced) {
    OperandElements elements(region_, op_);
    Expr x = op_.def().lower->reduction != nullptr
                 ? op_.def().lower->reduction->element(elements, at, reduced)
                 : product(elements, at, reduced);
    if (x->type.elem != type_.elem) x = loop::cast(type_.elem, x);
    Expr acc = loop::load_local(acc_);
    if (!is_arg(kind_)) {
      b.store_local(acc_, 0, loop::prim(combiner(kind_), {acc, x}));
      return;
    }
    // The first of equal ones; a NaN wins, the first of them.
    x = b.let("x", x);
    Expr better = kind_ == Reduction::Kind::kArgMax ? x > acc : x < acc;
    if (loop::is_float(type_.elem)) {
      Expr nan = loop::prim(Prim::kIsNan, {x});
      better = better | (nan & loop::eq(acc, acc));
    }
    Expr position = region_.position(reduced, extents_);
    better = b.let("better", better);
    b.store_local(best_, 0, loop::select(better, position, loop::load_local(best_)));
    b.store_local(acc_, 0, loop::select(better, x, acc));
  }

  // A contraction of elements that have no register tiles: one product at a time.
  Expr product(Elements& elements, const Indices& at, const Indices& k) const {
    const Contraction& how = *op_.def().lower->contraction;
    Contraction::Spaces spaces = how.spaces(op_);
    auto g_end = at.begin() + static_cast<std::ptrdiff_t>(spaces.batch.size());
    auto m_end = g_end + static_cast<std::ptrdiff_t>(spaces.m.size());
    Indices g(at.begin(), g_end), m(g_end, m_end), n(m_end, at.end());
    return how.a(elements, g, m, k) * how.b(elements, g, k, n);
  }

  void check_order(const Contraction& how) const {
    if (how.result != nullptr)
      compile_error(op_.loc, "[{}] is for f32 and f64, got {}", op_.name(),
                    op_.operand_type(0).str());
  }

  void finish(Body& b, Expr value, const Indices& at) {
    if (finish_ != nullptr) {
      OperandElements elements(region_, op_);
      value = finish_(elements, value);
    }
    loop::Elem elem = loop::elem_of(op_.result_type().dtype);
    if (value->type.elem != elem) value = loop::cast(elem, value);
    region_.bind(op_.result(), b.let("y", value));
    store_results(region_, b, at);
    region_.bind(op_.result(), {});
  }

  Expr grain(Expr work) {
    return loop::max(i64(1), i64(kTaskElements) / loop::max(i64(1), std::move(work)));
  }

  // across: tasks are some results each.
  Expr rows(Body& body, Expr task) {
    Expr results = region_.size(numel(space()));
    Expr step = grain(region_.size(numel(extents_)));
    Expr first = body.let("first", task * step);
    body.loop("r", first, loop::min(results, first + step), [&](Body& b, Expr r) {
      Indices at = region_.split(r, space());
      for (Expr& i : at) i = b.let("i", i);
      one(b, at, true);
    });
    return loop::ceil_div(results, step);
  }

  // along: tasks are some rows of results, or some columns of a lone row.
  Expr columns(Body& body, Expr task) {
    Shape outer(space().begin(), space().end() - 1);
    Expr width = region_.size(space().back()), reduced = region_.size(numel(extents_));
    int lanes = lanes_along();
    auto row = [&](Body& b, Expr r, Expr begin, Expr count) {
      Indices at = region_.split(r, outer);
      for (Expr& i : at) i = b.let("i", i);
      vector_loop(b, "j", count, lanes, [&](Body& in, Expr j) {
        Indices index = at;
        index.push_back(begin + j);
        one(in, index, false);
      });
    };
    if (numel(outer).is(1)) {
      Expr begin = body.let("begin", task * kReduceLanes);
      row(body, i64(0), begin, loop::min(i64(kReduceLanes), width - begin));
      return loop::ceil_div(width, i64(kReduceLanes));
    }
    Expr rows = region_.size(numel(outer));
    Expr step = grain(width * reduced);
    Expr first = body.let("first", task * step);
    body.loop("r", first, loop::min(rows, first + step),
              [&](Body& b, Expr r) { row(b, r, i64(0), width); });
    return loop::ceil_div(rows, step);
  }

  int lanes_along() const {
    int one = machine_.lanes(loop::Elem::kF32);
    const Dim& width = space().back();
    if (!width.is_constant()) return kReduceLanes;
    int lanes = one;
    while (lanes < kReduceLanes && lanes < width.constant()) lanes *= 2;
    return lanes;
  }

  Region region_;
  const Op& op_;
  const loop::Machine& machine_;
  Reduction::Kind kind_ = Reduction::Kind::kSum;
  Expr (*finish_)(Elements& e, Expr value) = nullptr;
  Shape extents_;
  std::vector<int> runs_;
  bool last_axis_reduced_ = false;
  loop::Type type_;
  loop::Local acc_, best_;
};

}  // namespace

LoweredKernel lower_reduction(const Function& region, const Op& op, const loop::Machine& machine) {
  return Reducer(region, op, machine).lower();
}

}  // namespace tapeless::lowering
