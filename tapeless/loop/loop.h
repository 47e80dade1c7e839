#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tapeless {
enum class DType : uint8_t;
}

// The loop IR: the seam between tensor lowering and machine code. Immutable expression trees and
// statements over typed buffers, with explicit vectors. Nodes are compared by identity; variables,
// buffers and locals are the node itself (printing names them), so there is no table of ids.
namespace tapeless::loop {

enum class Elem : uint8_t { kF32, kF64, kBF16, kF16, kI32, kI64, kU8, kU32, kU64, kBool };

Elem elem_of(DType dtype);  // how a tensor's element is stored; key is u64: one element a key
const char* elem_name(Elem elem);
int elem_bytes(Elem elem);  // storage: bool is one byte, 0 or 1
constexpr bool is_float(Elem e) { return e <= Elem::kF16; }
constexpr bool is_signed(Elem e) { return e <= Elem::kI64; }
constexpr bool is_integer(Elem e) { return !is_float(e) && e != Elem::kBool; }

// A scalar (lanes == 1) or a vector of any number of lanes; codegen splits wide vectors over
// machine registers, so 64 lanes of f32 are four AVX-512 registers.
struct Type {
  Elem elem = Elem::kI64;
  int lanes = 1;
  bool operator==(const Type&) const = default;
  Type with_lanes(int n) const { return {elem, n}; }
  Type with_elem(Elem e) const { return {e, lanes}; }
};

// bf16 and f16 are storage types: they are loaded, stored, cast, bitcast and selected only.
enum class Prim : uint8_t {
  // Arithmetic. kDiv is for floats; kFloorDiv/kFloorMod for integers (floor towards -inf).
  // kMin/kMax give NaN if either side is NaN. kFma(a, b, c) = a * b + c rounded once.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  kNeg,
  kAbs,
  kFma,
  kSqrt,
  kFloor,
  kCeil,
  kTrunc,
  kRoundEven,
  // Comparisons give bool lanes; ordered (false on NaN), except kNe.
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIsNan,
  // Integers and bools. kShr is logical for unsigned, arithmetic for signed. kMulHi: u32 and u64.
  kAnd,
  kOr,
  kXor,
  kNot,
  kShl,
  kShr,
  kMulHi,
  // kSelect(condition, a, b): the condition has the lanes of the values, or is a scalar.
  kSelect,
  // Floats only, at most 2 ulp in f32.
  kExp,
  kLog,
  kLog1p,
  kExpm1,
  kSin,
  kCos,
  kTanh,
  kErf,
  kSigmoid,
  kPow,
  kRsqrt,
};

const char* prim_name(Prim op);
int prim_arity(Prim op);

enum class ExprKind : uint8_t {
  kConst,
  kVar,
  kPrim,
  kCast,
  kBitcast,
  kLoad,
  kRamp,
  kBroadcast,
  kReduce,
  kLoadLocal
};

struct ExprNode;
struct StmtNode;

class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* get() const { return node_.get(); }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  std::shared_ptr<const ExprNode> node_;
};

enum class Access : uint8_t { kRead, kWrite, kReadWrite, kScratch };

// Memory indexed in elements. Buffers of one kernel may share storage (in-place results), so
// codegen assumes nothing about aliasing. A scratch buffer is not a pointer of the caller: it lies
// `offset` bytes (an i64 expression of the sizes, a multiple of 64) into the thread's scratch.
struct BufferDecl {
  std::string name;
  Elem elem;
  Access access = Access::kRead;
  Expr offset = {};
};
using Buffer = std::shared_ptr<const BufferDecl>;

// An array of `count` registers of one type (also vectors). Where every index is a constant once
// unrolled loops are expanded, each element is a machine register; otherwise it lies on the stack.
// Starts undefined.
struct LocalDecl {
  std::string name;
  Type type;
  int64_t count = 1;
};
using Local = std::shared_ptr<const LocalDecl>;

struct ExprNode {
  ExprKind kind;
  Type type;
  Prim op = Prim::kAdd;         // kPrim, kReduce (kAdd kMul kMin kMax kAnd kOr kXor)
  int64_t int_value = 0;        // kConst of integers and bool
  double float_value = 0;       // kConst of floats
  std::string name = {};        // kVar
  std::vector<Expr> args = {};  // kLoad: index[, mask]; kRamp: base, stride; kLoadLocal: index
  Buffer buffer = {};           // kLoad
  Local local = {};             // kLoadLocal
};

enum class StmtKind : uint8_t { kBlock, kFor, kIf, kLet, kStore, kLocal, kStoreLocal, kPrefetch };
enum class ForKind : uint8_t { kSerial, kUnrolled };  // unrolled: constant bounds

class Stmt {
 public:
  Stmt() = default;
  explicit Stmt(std::shared_ptr<const StmtNode> node) : node_(std::move(node)) {}
  const StmtNode* operator->() const { return node_.get(); }
  const StmtNode& operator*() const { return *node_; }
  const StmtNode* get() const { return node_.get(); }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  std::shared_ptr<const StmtNode> node_;
};

struct StmtNode {
  StmtKind kind;
  ForKind for_kind = ForKind::kSerial;
  Expr var = {};                // kFor (i64 scalar), kLet
  std::vector<Expr> args = {};  // kFor: begin, end, step; kIf: scalar condition; kLet: value;
                                // kStore: index, value[, mask]; kStoreLocal: index, value;
                                // kPrefetch: index
  std::vector<Stmt> body = {};  // kBlock: all; kFor, kLet, kLocal: one; kIf: then[, else]
  Buffer buffer = {};           // kStore, kPrefetch
  Local local = {};             // kLocal, kStoreLocal
};

// One compiled function. It runs `body` once for each task in [task_begin, task_end); tasks are
// independent of one another. `tasks` and `scratch_bytes` (of one thread) are evaluated by the
// caller from the sizes: see evaluate().
struct Kernel {
  std::string name;
  std::vector<Buffer> buffers;  // scratch buffers may stand anywhere, the caller passes the others
  std::vector<Expr> sizes;      // i64 scalar variables
  Expr scratch_bytes;           // null: none
  Expr tasks;                   // null: one task
  Expr task;                    // i64 scalar variable, null if the body does not use it
  Stmt body;
};

// Value of an integer expression of constants and `vars` (no loads), as the caller of a kernel
// evaluates `tasks` and `scratch_bytes`.
int64_t evaluate(const Expr& expr, std::span<const Expr> vars, std::span<const int64_t> values);

// --- Making expressions. Trivial constants fold: 0 + a, a * 1, constant arithmetic on integers.

Expr constant(Type type, double value);  // broadcast when lanes > 1; exact for |integers| <= 2^53
Expr int_constant(Type type, int64_t value);
inline Expr i64(int64_t v) { return int_constant({Elem::kI64}, v); }
inline Expr i32(int64_t v) { return int_constant({Elem::kI32}, v); }
inline Expr u32(int64_t v) { return int_constant({Elem::kU32}, v); }
inline Expr f32(double v) { return constant({Elem::kF32}, v); }
inline Expr f64(double v) { return constant({Elem::kF64}, v); }
inline Expr boolean(bool v) { return int_constant({Elem::kBool}, v); }

Expr var(std::string name, Type type = {Elem::kI64});  // a new variable at each call
Buffer buffer(std::string name, Elem elem, Access access, Expr scratch_offset = {});
Local local(std::string name, Type type, int64_t count = 1);

// A scalar operand is broadcast to the lanes of the other ones. Element types must agree.
Expr prim(Prim op, std::vector<Expr> args);
Expr cast(Elem elem, Expr value);  // lanes kept; float to integer truncates and saturates
Expr bitcast(Elem elem, Expr value);
Expr load(const Buffer& buffer, Expr index, Expr mask = {});  // masked-off lanes read 0
Expr load_local(const Local& local, Expr index);
Expr load_local(const Local& local, int64_t index = 0);
Expr ramp(Expr base, Expr stride, int lanes);  // base, base + stride, ...
Expr ramp(Expr base, int lanes);               // stride 1: a load or store at it is contiguous
Expr broadcast(Expr scalar, int lanes);
Expr reduce(Prim op, Expr vector);  // ((0 + n/2) ..) halves folded onto each other until one lane

// The same node over other operands, folded anew.
Expr with_args(const Expr& e, std::vector<Expr> args);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // floats: kDiv; integers: kFloorDiv
Expr operator%(Expr a, Expr b);  // integers: kFloorMod
Expr operator-(Expr a);
Expr operator&(Expr a, Expr b);  // bools and integers, lane by lane
Expr operator|(Expr a, Expr b);
Expr logical_not(Expr a);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr eq(Expr a, Expr b);
Expr ne(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr fma(Expr a, Expr b, Expr c);
Expr select(Expr condition, Expr a, Expr b);
Expr ceil_div(Expr a, Expr b);

// A number beside an expression takes its element type: x * 0.5, i + 1, 2 * n.
template <class T>
concept Number = std::is_arithmetic_v<T>;
template <Number T>
Expr literal_like(const Expr& e, T v);

#define TL_LOOP_LITERAL(OP)              \
  template <Number T>                    \
  Expr operator OP(const Expr& a, T b) { \
    return a OP literal_like(a, b);      \
  }                                      \
  template <Number T>                    \
  Expr operator OP(T a, const Expr& b) { \
    return literal_like(b, a) OP b;      \
  }
TL_LOOP_LITERAL(+)
TL_LOOP_LITERAL(-)
TL_LOOP_LITERAL(*)
TL_LOOP_LITERAL(/)
TL_LOOP_LITERAL(%)
TL_LOOP_LITERAL(<)
TL_LOOP_LITERAL(<=)
TL_LOOP_LITERAL(>)
TL_LOOP_LITERAL(>=)
#undef TL_LOOP_LITERAL

template <Number T>
Expr literal_like(const Expr& e, T v) {
  const Type scalar{e->type.elem};
  if constexpr (std::is_integral_v<T>) {
    if (!is_float(scalar.elem)) return int_constant(scalar, static_cast<int64_t>(v));
  }
  return constant(scalar, static_cast<double>(v));
}

std::optional<int64_t> as_int(const Expr& e);  // the value of an integer or bool constant

// --- Making statements.

Stmt block(std::vector<Stmt> statements);
Stmt for_loop(Expr var, Expr begin, Expr end, Expr step, Stmt body,
              ForKind kind = ForKind::kSerial);
Stmt if_then(Expr condition, Stmt then_body, Stmt else_body = {});
Stmt let(Expr var, Expr value, Stmt body);
Stmt store(const Buffer& buffer, Expr index, Expr value, Expr mask = {});
Stmt with_local(const Local& local, Stmt body);
Stmt store_local(const Local& local, Expr index, Expr value);
Stmt prefetch(const Buffer& buffer, Expr index);  // hint: to be read soon; any address is allowed

// Statements in the order of the calls; what let() and make_local() give is in scope until the end:
//   Body body;
//   body.loop("i", i64(0), n, [&](Body& b, Expr i) {
//     Expr x = b.let("x", load(in, i));
//     b.store(out, i, x * x);
//   });
//   kernel.body = body.finish();
class Body {
 public:
  Expr let(std::string name, Expr value);  // constants and variables are given back as they are
  Local make_local(std::string name, Type type, int64_t count = 1);
  void store(const Buffer& buffer, Expr index, Expr value, Expr mask = {});
  void store_local(const Local& local, Expr index, Expr value);
  void store_local(const Local& local, int64_t index, Expr value);
  void prefetch(const Buffer& buffer, Expr index);
  void add(Stmt statement);
  using LoopFn = std::function<void(Body&, Expr)>;
  void loop(std::string name, Expr begin, Expr end, const LoopFn& fn);
  void loop(std::string name, Expr begin, Expr end, Expr step, const LoopFn& fn);
  void unrolled(std::string name, int64_t begin, int64_t end, const LoopFn& fn);
  void when(Expr condition, const std::function<void(Body&)>& then_fn,
            const std::function<void(Body&)>& else_fn = {});
  Stmt finish();

 private:
  struct Item {
    Stmt statement = {};  // null: a let (var, value) or a local
    Expr var = {}, value = {};
    Local local = {};
  };
  std::vector<Item> items_;
};

}  // namespace tapeless::loop
