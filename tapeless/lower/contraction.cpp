// Regions around a contraction C[g, m, n] = sum over k of A[g, m, k] B[g, k, n], for any number of
// dimensions in each of g, m, n, k. One factor runs along rows, the other along columns of register
// tiles (operands.h says which). Loops, outermost first:
//
//   task                       (g, a part of the rows, a part of the columns)
//     chunk of k               whole entries of k's first dimension
//       pack the rows          [panel][k][rows], unless they are read in place
//       panel of columns
//         pack it              [k][columns], elements computed here: the prologue
//         panel of rows
//           tile += rows x columns   accumulators in registers, one chain of FMAs an element
//           last chunk: the epilogue over the tile, and the stores
//
// Between chunks tiles wait in scratch, so that a chain goes on where it stopped: bits depend on
// nothing but the order of k.
#include <fmt/core.h>

#include <algorithm>

#include "tapeless/loop/vectorize.h"
#include "tapeless/lower/affine.h"
#include "tapeless/lower/kernels.h"
#include "tapeless/lower/operands.h"
#include "tapeless/select/tile.h"

namespace tapeless::lowering {

using loop::Body;
using loop::Expr;
using loop::i64;

namespace {

// Products that pay for handing a part to a thread.
constexpr int64_t kPartProducts = int64_t{1} << 17;

class Contractor {
 public:
  Contractor(const Function& function, const Op& op, const loop::Machine& machine)
      : region_(function), op_(op), machine_(machine), how_(*op.def().lower->contraction) {
    Contraction::Spaces spaces = how_.spaces(op);
    batch_ = spaces.batch;
    k_ = spaces.k.empty() ? Shape{1} : spaces.k;
    no_k_ = spaces.k.empty();
    Orientation way = orient(region_, op);
    rows_ = way.rows;
    columns_ = way.columns;
    lanes_ = way.columns_layout.lanes;
    linear_k_ = way.rows_layout.linear_k;
    type_ = scalar_type(op.result_type().dtype);
    tile_ = select_tile(machine, type_.elem, numel(rows_.own), numel(columns_.own));
    vector_ = type_.with_lanes(tile_.lanes);
  }

  LoweredKernel lower() {
    Body body;
    Expr task = loop::var("task");
    sizes();
    partition();
    Expr parts = row_parts_ * column_parts_;
    g_ = body.let("g", task / parts);
    Expr part = body.let("part", task % parts);
    row_panel0_ = body.let("rp0", part / column_parts_ * rows_per_part_);
    column_panel0_ = body.let("cp0", part % column_parts_ * columns_per_part_);
    row_count_ = body.let("rpc", loop::min(rows_per_part_, row_panels_ - row_panel0_));
    column_count_ = body.let("cpc", loop::min(columns_per_part_, column_panels_ - column_panel0_));
    buffers();
    body.loop("c", i64(0), chunks_, [&](Body& b, Expr c) { chunk(b, c); });
    LoweredKernel out;
    out.kernel = region_.kernel(batch_size_ * parts, task, body.finish());
    out.slots = region_.slots();
    out.symbols = region_.symbols();
    out.how = how_cut();
    return out;
  }

 private:
  bool in_place() const { return linear_k_ > 0; }

  std::string how_cut() const {
    return fmt::format("contraction, tile {} x {}, depth {}, rows from {} {}", tile_.rows,
                       tile_.columns(), tile_.depth, rows_.is_a ? "a" : "b",
                       in_place() ? "in place" : "packed");
  }

  Shape inner_k() const { return {k_.begin() + 1, k_.end()}; }

  void sizes() {
    row_size_ = region_.size(numel(rows_.own));
    column_size_ = region_.size(numel(columns_.own));
    batch_size_ = region_.size(numel(batch_));
    k_first_ = region_.size(k_[0]);
    k_rest_ = region_.size(numel(inner_k()));
    // Entries of k's first dimension in a chunk; at least one chunk, so that an empty k stores 0.
    chunk_entries_ = loop::max(i64(1), i64(tile_.depth) / loop::max(i64(1), k_rest_));
    one_chunk_ = numel(k_).is_constant() && numel(k_).constant() <= tile_.depth;
    chunks_ = one_chunk_ ? i64(1) : loop::max(i64(1), loop::ceil_div(k_first_, chunk_entries_));
    row_panels_ = loop::ceil_div(row_size_, i64(tile_.rows));
    column_panels_ = loop::ceil_div(column_size_, i64(tile_.columns()));
  }

  // Threads that this much work can occupy share the batch first. What is missing is cut from the
  // columns where rows are read in place, since then nothing is packed twice; else from the larger
  // side, since each part packs the other side anew.
  void partition() {
    Expr work = batch_size_ * row_size_ * column_size_ * (k_first_ * k_rest_) / kPartProducts;
    Expr threads = loop::min(region_.threads(), loop::max(i64(1), work));
    Expr wanted = loop::ceil_div(threads, loop::max(i64(1), batch_size_));
    Expr wide = in_place() ? column_panels_ >= wanted : column_size_ >= row_size_;
    auto cut = [](const Expr& panels, const Expr& parts) {
      return loop::max(i64(1), loop::min(panels, parts));
    };
    Expr major_parts = cut(loop::select(wide, column_panels_, row_panels_), wanted);
    Expr minor_parts =
        cut(loop::select(wide, row_panels_, column_panels_), loop::ceil_div(wanted, major_parts));
    row_parts_ = loop::select(wide, minor_parts, major_parts);
    column_parts_ = loop::select(wide, major_parts, minor_parts);
    rows_per_part_ = loop::ceil_div(row_panels_, row_parts_);
    columns_per_part_ = loop::ceil_div(column_panels_, column_parts_);
    // Rounding up may leave last parts empty: as many as there is work for.
    row_parts_ = loop::ceil_div(row_panels_, loop::max(i64(1), rows_per_part_));
    column_parts_ = loop::ceil_div(column_panels_, loop::max(i64(1), columns_per_part_));
  }

  void buffers() {
    Expr depth = loop::min(chunk_entries_, loop::max(i64(1), k_first_)) * k_rest_;
    columns_pack_ = region_.scratch("columns", type_.elem, depth * tile_.columns());
    Expr tiles = one_chunk_ ? i64(1) : rows_per_part_ * columns_per_part_;
    tiles_ = region_.scratch("tiles", type_.elem, tiles * tile_.rows * tile_.columns());
    if (!in_place())
      rows_pack_ = region_.scratch("rows", type_.elem, rows_per_part_ * tile_.rows * depth);
  }

  Indices batch_index() { return region_.split(g_, batch_); }

  Expr element(const Factor& factor, const Indices& own, const Indices& k) {
    OperandElements elements(region_, op_);
    return factor.element(elements, how_, batch_index(), own, no_k_ ? Indices{} : k);
  }

  void chunk(Body& b, Expr c) {
    entry_ = b.let("k0", c * chunk_entries_);
    entries_ = b.let("ke", loop::min(chunk_entries_, k_first_ - entry_));
    k_begin_ = b.let("kb", entry_ * k_rest_);
    depth_ = b.let("kc", loop::max(i64(0), entries_ * k_rest_));
    if (!in_place()) b.loop("rp", i64(0), row_count_, [&](Body& in, Expr p) { pack_rows(in, p); });
    b.loop("cp", i64(0), column_count_, [&](Body& in, Expr q) {
      Expr n0 = in.let("n0", (column_panel0_ + q) * tile_.columns());
      Expr width = in.let("width", loop::min(i64(tile_.columns()), column_size_ - n0));
      pack_columns(in, n0, width);
      in.loop("rp", i64(0), row_count_, [&](Body& t, Expr p) { tile(t, c, p, q, n0, width); });
    });
  }

  // [panel][k][rows]; rows outside repeat the last one, and are never stored.
  void pack_rows(Body& b, Expr p) {
    Expr base = b.let("base", p * depth_ * tile_.rows);
    Expr m0 = b.let("m0", (row_panel0_ + p) * tile_.rows);
    b.loop("i", i64(0), i64(tile_.rows), [&](Body& row, Expr i) {
      Expr m = row.let("m", loop::min(m0 + i, row_size_ - 1));
      vector_loop(row, "k", depth_, tile_.lanes, [&](Body& in, Expr k) {
        in.store(rows_pack_, base + k * tile_.rows + i,
                 element(rows_, region_.split(m, rows_.own), region_.split(k_begin_ + k, k_)));
      });
    });
  }

  // [k][columns]. Columns beyond the width keep what was there, and are never stored.
  void pack_columns(Body& b, Expr n0, Expr width) {
    if (lanes_ == Layout::Lanes::kSegments) return pack_segments(b, n0, width);
    auto pack = [&](Body& out, Expr extent) {
      k_loops(out, [&](Body& in, const Indices& k, Expr at) {
        Expr row = in.let("row", at * tile_.columns());
        vector_loop(in, "j", extent, tile_.columns(), [&](Body& lane, Expr j) {
          Expr x = element(columns_, region_.split(n0 + j, columns_.own), k);
          lane.store(columns_pack_, row + j, group_by(x, j));
        });
      });
    };
    b.when(
        loop::eq(width, i64(tile_.columns())),
        [&](Body& full) { pack(full, i64(tile_.columns())); },
        [&](Body& part) { pack(part, width); });
  }

  // The columns of a panel, cut where the last own dimension starts anew: runs of memory.
  void pack_segments(Body& b, Expr n0, Expr width) {
    const Dim& last = columns_.own.back();
    Shape outer(columns_.own.begin(), columns_.own.end() - 1);
    Expr length = region_.size(last);
    Expr end = b.let("end", n0 + width);
    b.loop("s", n0 / length, (end + length - 1) / length, [&](Body& segment, Expr s) {
      Expr first = segment.let("first", loop::max(n0, s * length));
      Expr count = segment.let("count", loop::min(end, (s + 1) * length) - first);
      Expr inside = segment.let("inside", first - s * length);
      Indices own = region_.split(s, outer);
      for (Expr& i : own) i = segment.let("i", i);
      k_loops(segment, [&](Body& in, const Indices& k, Expr at) {
        Expr row = in.let("row", at * tile_.columns() + (first - n0));
        auto move = [&](Body& lane, Expr j) {
          Indices index = own;
          index.push_back(inside + j);
          lane.store(columns_pack_, row + j, element(columns_, index, k));
        };
        int lanes = segment_lanes(last);
        if (last.is_constant() && last.constant() <= lanes)
          vector_loop(in, "j", i64(lanes), lanes, [&](Body& lane, Expr j) {
            lane.when(j < count, [&](Body& on) { move(on, j); });
          });
        else
          vector_loop(in, "j", count, lanes, move);
      });
    });
  }

  // One vector where a whole segment fits into a panel.
  int segment_lanes(const Dim& last) const {
    int lanes = tile_.lanes;
    while (lanes < tile_.columns() && (!last.is_constant() || lanes < last.constant()))
      lanes += tile_.lanes;
    return lanes;
  }

  using KFn = std::function<void(Body&, const Indices&, Expr)>;

  // Loops over this chunk of k to pack columns; `at` counts its positions. The first dimension is
  // innermost: masks of a convolution's padding depend on the others only.
  void k_loops(Body& b, const KFn& fn) {
    inner_k_loops(b, {i64(0)}, i64(0), k_.size(), [&](Body& deep, const Indices& k, Expr at) {
      at = deep.let("at", at);
      deep.loop("k0", i64(0), entries_, [&](Body& in, Expr k0) {
        Indices index = k;
        index[0] = entry_ + k0;
        fn(in, index, k0 * k_rest_ + at);
      });
    });
  }

  void inner_k_loops(Body& b, Indices k, Expr at, size_t upto, const KFn& fn) {
    if (k.size() == upto) return fn(b, k, at);
    Expr extent = region_.size(k_[k.size()]);
    b.loop("k", i64(0), extent, [&](Body& in, Expr i) {
      Indices next = k;
      next.push_back(i);
      inner_k_loops(in, next, at * extent + i, upto, fn);
    });
  }

  void tile(Body& b, Expr c, Expr p, Expr q, Expr n0, Expr width) {
    Expr m0 = b.let("m0", (row_panel0_ + p) * tile_.rows);
    Expr base =
        one_chunk_ ? i64(0) : b.let("tb", (p * column_count_ + q) * (tile_.rows * tile_.columns()));
    loop::Local acc = b.make_local("acc", vector_, tile_.rows * tile_.vectors);
    auto each = [&](auto&& fn) {
      for (int i = 0; i < tile_.rows; ++i)
        for (int v = 0; v < tile_.vectors; ++v)
          fn(loop::ramp(base + (i * tile_.columns() + v * tile_.lanes), tile_.lanes),
             i * tile_.vectors + v);
    };
    auto clear = [&](Body& in) {
      each([&](Expr, int r) { in.store_local(acc, r, loop::constant(vector_, 0)); });
    };
    if (one_chunk_)
      clear(b);
    else
      b.when(loop::eq(c, i64(0)), clear, [&](Body& in) {
        each([&](Expr at, int r) { in.store_local(acc, r, loop::load(tiles_, at)); });
      });
    multiply(b, acc, p, m0);
    each([&](Expr at, int r) { b.store(tiles_, at, loop::load_local(acc, r)); });
    if (one_chunk_)
      epilogue(b, m0, n0, width, base);
    else
      b.when(loop::eq(c, chunks_ - 1), [&](Body& in) { epilogue(in, m0, n0, width, base); });
  }

  // The loops over k around a step that lies in registers.
  void multiply(Body& b, const loop::Local& acc, Expr p, Expr m0) {
    if (!in_place()) {
      Expr base = b.let("ab", p * depth_ * tile_.rows);
      b.loop("k", i64(0), depth_, [&](Body& in, Expr k) {
        step(in, acc, k, [&](int i) { return loop::load(rows_pack_, base + k * tile_.rows + i); });
      });
      return;
    }
    std::vector<Indices> own;
    for (int i = 0; i < tile_.rows; ++i) {
      own.push_back(region_.split(b.let("m", loop::min(m0 + i, row_size_ - 1)), rows_.own));
      for (Expr& axis : own.back()) axis = b.let("i", axis);
    }
    auto inner = [&](Body& outer, const Indices& fixed, Expr at, Expr first, Expr extent) {
      Shape flat(k_.begin() + static_cast<std::ptrdiff_t>(fixed.size()), k_.end());
      outer.loop("k", i64(0), extent, [&](Body& in, Expr k) {
        step(in, acc, at + k, [&](int i) {
          Indices index = fixed;
          for (const Expr& j : region_.split(first + k, flat)) index.push_back(j);
          return group_by(element(rows_, own[static_cast<size_t>(i)], index), k);
        });
      });
    };
    if (linear_k_ == k_.size()) return inner(b, {}, i64(0), k_begin_, depth_);
    size_t fixed = k_.size() - linear_k_;
    Expr run = region_.size(numel(std::span(k_).subspan(fixed)));
    b.loop("k0", i64(0), entries_, [&](Body& in, Expr k0) {
      inner_k_loops(in, {entry_ + k0}, k0, fixed, [&](Body& deep, const Indices& k, Expr at) {
        inner(deep, k, deep.let("at", at * run), i64(0), run);
      });
    });
  }

  // A broadcast of each row times all columns at position `at` of the panel.
  void step(Body& b, const loop::Local& acc, Expr at, const std::function<Expr(int)>& row) {
    std::vector<Expr> column;
    for (int v = 0; v < tile_.vectors; ++v)
      column.push_back(
          b.let("b", loop::load(columns_pack_,
                                loop::ramp(at * tile_.columns() + v * tile_.lanes, tile_.lanes))));
    for (int i = 0; i < tile_.rows; ++i) {
      Expr a = b.let("a", loop::broadcast(row(i), tile_.lanes));
      for (int v = 0; v < tile_.vectors; ++v) {
        int r = i * tile_.vectors + v;
        Expr old = loop::load_local(acc, r);
        const Expr& x = column[static_cast<size_t>(v)];
        b.store_local(acc, r, machine_.fma ? loop::fma(a, x, old) : a * x + old);
      }
    }
  }

  // The finished tile, row by row: the region's results for each element.
  void epilogue(Body& b, Expr m0, Expr n0, Expr width, Expr base) {
    Expr height = b.let("height", loop::min(i64(tile_.rows), row_size_ - m0));
    b.loop("i", i64(0), height, [&](Body& in, Expr i) {
      Indices row = region_.split(in.let("m", m0 + i), rows_.own);
      for (Expr& axis : row) axis = in.let("i", axis);
      vector_loop(in, "j", width, tile_.lanes, [&](Body& lane, Expr j) {
        Expr done = loop::load(tiles_, base + i * tile_.columns() + j);
        region_.bind(op_.result(), lane.let("acc", done));
        store_results(region_, lane, result_index(row, region_.split(n0 + j, columns_.own)));
        region_.bind(op_.result(), {});
      });
    });
  }

  Indices result_index(const Indices& row, const Indices& column) {
    const Indices &m = rows_.is_a ? row : column, &n = rows_.is_a ? column : row;
    Indices index = batch_index();
    if (how_.result != nullptr) {
      OperandElements elements(region_, op_);
      return how_.result(elements, index, m, n);
    }
    index.insert(index.end(), m.begin(), m.end());
    index.insert(index.end(), n.begin(), n.end());
    return index;
  }

  Region region_;
  const Op& op_;
  const loop::Machine& machine_;
  const Contraction& how_;
  Shape batch_, k_;
  bool no_k_ = false;
  Factor rows_, columns_;
  Layout::Lanes lanes_ = Layout::Lanes::kGathered;
  size_t linear_k_ = 0;
  Tile tile_;
  loop::Type type_, vector_;
  bool one_chunk_ = false;
  loop::Buffer rows_pack_, columns_pack_, tiles_;
  Expr row_size_, column_size_, batch_size_, k_first_, k_rest_, chunk_entries_, chunks_;
  Expr row_panels_, column_panels_, row_parts_, column_parts_, rows_per_part_, columns_per_part_;
  Expr g_, row_panel0_, column_panel0_, row_count_, column_count_;
  Expr entry_, entries_, k_begin_, depth_;
};

}  // namespace

LoweredKernel lower_contraction(const Function& region, const Op& op,
                                const loop::Machine& machine) {
  return Contractor(region, op, machine).lower();
}

}  // namespace tapeless::lowering
