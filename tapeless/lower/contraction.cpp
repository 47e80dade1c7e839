// Regions around a contraction C[g, m, n] = sum over k of A[g, m, k] B[g, k, n], for any number of
// dimensions in each of g, m, n, k. Loops, outermost first:
//
//   task                       (g, a part of m, a part of n)
//     chunk of k               whole entries of k's first dimension
//       pack A's panels        [panel][k][rows], unless A is read in place
//       panel of n             `columns` wide
//         pack B's panel       [k][columns], elements computed here: the prologue
//         panel of m           `rows` high
//           tile += A B        rows x vectors accumulators, one chain of FMAs an element
//           last chunk: the epilogue over the tile, and the stores
//
// Between chunks tiles wait in scratch, so that a chain goes on where it stopped: bits depend on
// nothing but the order of k.
#include <algorithm>

#include "tapeless/loop/vectorize.h"
#include "tapeless/lower/affine.h"
#include "tapeless/lower/kernels.h"
#include "tapeless/select/tile.h"

namespace tapeless::lowering {

using loop::Body;
using loop::Expr;
using loop::i64;

namespace {

class Contractor {
 public:
  Contractor(const Function& function, const Op& op, const loop::Machine& machine)
      : region_(function), op_(op), machine_(machine), how_(*op.def().lower->contraction) {
    spaces_ = how_.spaces(op);
    type_ = scalar_type(op.result_type().dtype);
    tile_ = select_tile(machine, type_.elem, numel(spaces_.m), numel(spaces_.n));
    vector_ = type_.with_lanes(tile_.lanes);
  }

  LoweredKernel lower() {
    Body body;
    Expr task = loop::var("task");
    sizes(body);
    partition(body);
    inspect_a();
    Expr parts = m_parts_ * n_parts_;
    g_ = body.let("g", task / parts);
    Expr part = body.let("part", task % parts);
    m_panel0_ = body.let("mp0", part / n_parts_ * m_per_part_);
    n_panel0_ = body.let("np0", part % n_parts_ * n_per_part_);
    m_count_ = body.let("mpc", loop::min(m_per_part_, m_panels_ - m_panel0_));
    n_count_ = body.let("npc", loop::min(n_per_part_, n_panels_ - n_panel0_));
    buffers();
    body.loop("c", i64(0), chunks_, [&](Body& b, Expr c) { chunk(b, c); });
    LoweredKernel out;
    out.kernel = region_.kernel(g_size_ * parts, task, body.finish());
    out.slots = region_.slots();
    out.symbols = region_.symbols();
    return out;
  }

 private:
  static Dim rest(const Shape& k) {
    return k.empty() ? Dim(1) : numel(std::span(k).subspan(1));
  }

  void sizes(Body&) {
    m_ = region_.size(numel(spaces_.m));
    n_ = region_.size(numel(spaces_.n));
    g_size_ = region_.size(numel(spaces_.batch));
    k_first_ = region_.size(spaces_.k.empty() ? Dim(1) : spaces_.k[0]);
    k_rest_ = region_.size(rest(spaces_.k));
    // Entries of k's first dimension in a chunk; at least one chunk, so that an empty k stores 0.
    chunk_entries_ = loop::max(i64(1), i64(tile_.depth) / loop::max(i64(1), k_rest_));
    chunks_ = loop::max(i64(1), loop::ceil_div(k_first_, chunk_entries_));
    one_chunk_ = numel(spaces_.k).is_constant() &&
                 numel(spaces_.k).constant() <= tile_.depth;
    if (one_chunk_) chunks_ = i64(1);
    m_panels_ = loop::ceil_div(m_, i64(tile_.rows));
    n_panels_ = loop::ceil_div(n_, i64(tile_.columns()));
  }

  // Threads share g first; what is missing is cut from the larger of m and n, since each part packs
  // the other operand anew.
  void partition(Body&) {
    Expr wanted = loop::ceil_div(region_.threads(), loop::max(i64(1), g_size_));
    Expr wide = n_ >= m_;
    auto cut = [](const Expr& panels, const Expr& parts) {
      return loop::max(i64(1), loop::min(panels, parts));
    };
    Expr major = loop::select(wide, n_panels_, m_panels_);
    Expr minor = loop::select(wide, m_panels_, n_panels_);
    Expr major_parts = cut(major, wanted);
    Expr minor_parts = cut(minor, loop::ceil_div(wanted, major_parts));
    m_parts_ = loop::select(wide, minor_parts, major_parts);
    n_parts_ = loop::select(wide, major_parts, minor_parts);
    m_per_part_ = loop::ceil_div(m_panels_, m_parts_);
    n_per_part_ = loop::ceil_div(n_panels_, n_parts_);
    // Rounding up may leave last parts empty: as many as there is work for.
    m_parts_ = loop::ceil_div(m_panels_, loop::max(i64(1), m_per_part_));
    n_parts_ = loop::ceil_div(n_panels_, loop::max(i64(1), n_per_part_));
  }

  // A is read in place where its element is a plain load, linear in the position along k.
  void inspect_a() {
    Expr m = loop::var("m"), k = loop::var("k");
    Expr a = a_element(m, k);
    a_in_place_ = a->kind == loop::ExprKind::kLoad && a->args.size() == 1 &&
                  a->type.elem == type_.elem && affine_in(a->args[0], k);
  }

  void buffers() {
    Expr depth = loop::min(chunk_entries_, loop::max(i64(1), k_first_)) * k_rest_;
    if (!a_in_place_)
      a_pack_ = region_.scratch("a", type_.elem, m_per_part_ * tile_.rows * depth);
    b_pack_ = region_.scratch("b", type_.elem, depth * tile_.columns());
    Expr tiles = one_chunk_ ? i64(1) : m_per_part_ * n_per_part_;
    c_ = region_.scratch("c", type_.elem, tiles * tile_.rows * tile_.columns());
  }

  Indices batch_index() { return region_.split(g_, spaces_.batch); }

  Expr a_element(Expr m, Expr k, Expr mask = {}) {
    OperandElements elements(region_, op_, std::move(mask));
    return how_.a(elements, g_ ? batch_index() : region_.split(loop::var("g"), spaces_.batch),
                  region_.split(m, spaces_.m), region_.split(k, spaces_.k));
  }

  void chunk(Body& b, Expr c) {
    Expr entry = b.let("k0", c * chunk_entries_);
    Expr entries = b.let("ke", loop::min(chunk_entries_, k_first_ - entry));
    k_begin_ = b.let("kb", entry * k_rest_);
    depth_ = b.let("kc", loop::max(i64(0), entries * k_rest_));
    if (!a_in_place_)
      b.loop("mp", i64(0), m_count_, [&](Body& in, Expr p) { pack_a(in, p); });
    b.loop("np", i64(0), n_count_, [&](Body& in, Expr q) {
      Expr n0 = in.let("n0", (n_panel0_ + q) * tile_.columns());
      Expr width = in.let("nw", loop::min(i64(tile_.columns()), n_ - n0));
      pack_b(in, entry, entries, n0, width);
      in.loop("mp", i64(0), m_count_, [&](Body& t, Expr p) { tile(t, c, p, q, n0, width); });
    });
  }

  // [panel][k][rows]; rows outside of m repeat the last one, and are never stored.
  void pack_a(Body& b, Expr p) {
    Expr base = b.let("base", p * depth_ * tile_.rows);
    Expr m0 = b.let("m0", (m_panel0_ + p) * tile_.rows);
    b.loop("i", i64(0), i64(tile_.rows), [&](Body& row, Expr i) {
      Expr m = row.let("m", loop::min(m0 + i, m_ - 1));
      vector_loop(row, "k", depth_, tile_.lanes, [&](Body& in, Expr k) {
        in.store(a_pack_, base + k * tile_.rows + i, a_element(m, k_begin_ + k));
      });
    });
  }

  // [k][columns]: one vector as wide as the panel at each k; the last panel is cut by its width.
  void pack_b(Body& b, Expr entry, Expr entries, Expr n0, Expr width) {
    Shape inner(spaces_.k.begin() + (spaces_.k.empty() ? 0 : 1), spaces_.k.end());
    auto pack = [&](Body& out, Expr extent) {
      out.loop("k0", i64(0), entries, [&](Body& outer, Expr k0) {
        k_loops(outer, inner, {}, entry + k0, k0, [&](Body& in, const Indices& k, Expr at) {
          Expr row = in.let("row", at * tile_.columns());
          vector_loop(in, "j", extent, tile_.columns(), [&](Body& lane, Expr j) {
            OperandElements elements(region_, op_);
            Expr x = how_.b(elements, batch_index(), k, region_.split(n0 + j, spaces_.n));
            lane.store(b_pack_, row + j, group_by(x, j));
          });
        });
      });
    };
    b.when(loop::eq(width, i64(tile_.columns())),
           [&](Body& full) { pack(full, i64(tile_.columns())); },
           [&](Body& part) { pack(part, width); });
  }

  // Loops over the inner dimensions of k; `at` counts positions in the chunk.
  void k_loops(Body& b, const Shape& inner, Indices k, Expr first, Expr at,
               const std::function<void(Body&, const Indices&, Expr)>& fn) {
    if (k.empty()) {
      k = spaces_.k.empty() ? Indices{} : Indices{first};
      if (spaces_.k.empty()) return fn(b, {}, at);
    }
    size_t done = k.size() - 1;
    if (done == inner.size()) return fn(b, k, at);
    Expr extent = region_.size(inner[done]);
    b.loop("k", i64(0), extent, [&](Body& in, Expr i) {
      Indices next = k;
      next.push_back(i);
      k_loops(in, inner, next, first, at * extent + i, fn);
    });
  }

  void tile(Body& b, Expr c, Expr p, Expr q, Expr n0, Expr width) {
    int rows = tile_.rows, vectors = tile_.vectors;
    Expr m0 = b.let("m0", (m_panel0_ + p) * rows);
    Expr c_base = one_chunk_ ? i64(0)
                             : b.let("cb", (p * n_count_ + q) * (rows * tile_.columns()));
    loop::Local acc = b.make_local("acc", vector_, rows * vectors);
    auto at = [&](int i, int v) {
      return loop::ramp(c_base + (i * tile_.columns() + v * tile_.lanes), tile_.lanes);
    };
    auto each = [&](auto&& fn) {
      for (int i = 0; i < rows; ++i)
        for (int v = 0; v < vectors; ++v) fn(i, v, i * vectors + v);
    };
    auto clear = [&](Body& in) {
      each([&](int, int, int r) { in.store_local(acc, r, loop::constant(vector_, 0)); });
    };
    if (one_chunk_)
      clear(b);
    else
      b.when(loop::eq(c, i64(0)), clear, [&](Body& in) {
        each([&](int i, int v, int r) { in.store_local(acc, r, loop::load(c_, at(i, v))); });
      });
    multiply(b, acc, p, m0);
    each([&](int i, int v, int r) { b.store(c_, at(i, v), loop::load_local(acc, r)); });
    if (one_chunk_)
      epilogue(b, m0, n0, width, c_base);
    else
      b.when(loop::eq(c, chunks_ - 1), [&](Body& in) { epilogue(in, m0, n0, width, c_base); });
  }

  // The k loop over registers: a broadcast of A times `vectors` of B, for each row.
  void multiply(Body& b, const loop::Local& acc, Expr p, Expr m0) {
    int rows = tile_.rows, vectors = tile_.vectors;
    std::vector<Expr> row(static_cast<size_t>(rows));
    Expr a_base;
    if (a_in_place_)
      for (int i = 0; i < rows; ++i)
        row[size_t(i)] = b.let("row", loop::min(m0 + i, m_ - 1));
    else
      a_base = b.let("ab", p * depth_ * rows);
    b.loop("k", i64(0), depth_, [&](Body& in, Expr k) {
      std::vector<Expr> column;
      for (int v = 0; v < vectors; ++v)
        column.push_back(in.let("b", loop::load(b_pack_, loop::ramp(k * tile_.columns() +
                                                                        v * tile_.lanes,
                                                                    tile_.lanes))));
      for (int i = 0; i < rows; ++i) {
        Expr a = a_in_place_ ? group_by(a_element(row[size_t(i)], k_begin_ + k), k)
                             : loop::load(a_pack_, a_base + k * rows + i);
        a = in.let("a", loop::broadcast(a, tile_.lanes));
        for (int v = 0; v < vectors; ++v) {
          int r = i * vectors + v;
          in.store_local(acc, r, multiply_add(a, column[size_t(v)], loop::load_local(acc, r)));
        }
      }
    });
  }

  Expr multiply_add(Expr a, Expr b, Expr c) const {
    return machine_.fma ? loop::fma(a, b, c) : a * b + c;
  }

  // The finished tile, row by row: the region's results for each element.
  void epilogue(Body& b, Expr m0, Expr n0, Expr width, Expr c_base) {
    Expr height = b.let("mh", loop::min(i64(tile_.rows), m_ - m0));
    b.loop("i", i64(0), height, [&](Body& in, Expr i) {
      Expr m = in.let("m", m0 + i);
      vector_loop(in, "j", width, tile_.lanes, [&](Body& lane, Expr j) {
        Indices batch = batch_index();
        Indices at_m = region_.split(m, spaces_.m), at_n = region_.split(n0 + j, spaces_.n);
        Indices index = batch;
        index.insert(index.end(), at_m.begin(), at_m.end());
        index.insert(index.end(), at_n.begin(), at_n.end());
        OperandElements elements(region_, op_);
        if (how_.result != nullptr) index = how_.result(elements, batch, at_m, at_n);
        region_.bind(op_.result(), lane.let("acc", loop::load(c_, c_base + i * tile_.columns() + j)));
        store_results(region_, lane, index);
        region_.bind(op_.result(), {});
      });
    });
  }

  Region region_;
  const Op& op_;
  const loop::Machine& machine_;
  const Contraction& how_;
  Contraction::Spaces spaces_;
  Tile tile_;
  loop::Type type_, vector_;
  bool one_chunk_ = false, a_in_place_ = false;
  loop::Buffer a_pack_, b_pack_, c_;
  Expr m_, n_, g_size_, k_first_, k_rest_, chunk_entries_, chunks_;
  Expr m_panels_, n_panels_, m_parts_, n_parts_, m_per_part_, n_per_part_;
  Expr g_, m_panel0_, n_panel0_, m_count_, n_count_;
  Expr k_begin_, depth_;
};

}  // namespace

LoweredKernel lower_contraction(const Function& region, const Op& op,
                                const loop::Machine& machine) {
  return Contractor(region, op, machine).lower();
}

}  // namespace tapeless::lowering
