// f32 math functions in plain arithmetic, at most 2 ulp over the whole range, infinities, NaN and
// denormals included; one text for every number of lanes and every target. Coefficients of exp,
// log and tanh are those of Cephes (S. Moshier), erf's follow N. Juffa's minimax fits.
#include "tapeless/loop/vector_math.h"

#include <initializer_list>
#include <limits>

namespace tapeless::loop {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts: n * kLn2Hi is exact for |n| < 2^14.
constexpr double kLn2Hi = 0.693359375;
constexpr double kLn2Lo = -2.12194440e-4;
constexpr double kLog2E = 1.44269504088896341;
// Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
constexpr double kRound = 12582912.0;

class F32Math {
 public:
  explicit F32Math(bool fma) : fma_(fma) {}

  Expr exp(const Expr& x) const;
  Expr expm1(const Expr& x) const;
  Expr log(const Expr& x) const;
  Expr log1p(const Expr& x) const;
  Expr tanh(const Expr& x) const;
  Expr sigmoid(const Expr& x) const;
  Expr erf(const Expr& x) const;

 private:
  // x = n ln 2 + r with |r| <= ln2 / 2; n as a float and its bits with the rounding constant added.
  struct Reduced {
    Expr n, biased, r;
  };

  Expr madd(Expr a, Expr b, Expr c) const { return fma_ ? fma(a, b, c) : a * b + c; }
  Expr polynomial(const Expr& x, std::initializer_list<double> highest_first) const;
  Reduced reduce_exp(const Expr& x) const;
  Expr exp_tail(const Expr& r) const;
  Expr exp_small(const Expr& x) const;
  Expr log_parts(const Expr& f, const Expr& e) const;

  bool fma_;
};

Expr bits_of(const Expr& x) { return bitcast(Elem::kI32, x); }
Expr float_of(const Expr& bits) { return bitcast(Elem::kF32, bits); }
Expr shift_left(const Expr& a, int n) { return prim(Prim::kShl, {a, i32(n)}); }
Expr shift_right(const Expr& a, int n) { return prim(Prim::kShr, {a, i32(n)}); }
Expr absolute(const Expr& x) { return prim(Prim::kAbs, {x}); }
Expr mask_bits(const Expr& bits, int64_t mask) { return prim(Prim::kAnd, {bits, i32(mask)}); }

// |magnitude| with the sign of x; magnitude is not negative.
Expr with_sign_of(const Expr& magnitude, const Expr& x) {
  const Expr sign = mask_bits(bits_of(x), INT32_MIN);
  return float_of(prim(Prim::kOr, {bits_of(magnitude), sign}));
}

// 2^n for an i32 n in [-126, 127].
Expr power_of_two(const Expr& n) { return float_of(shift_left(n + 127, 23)); }

// x held in [low, high]; NaN stays.
Expr clamp(const Expr& x, double low, double high) {
  const Expr below = select(x > high, f32(high), x);
  return select(below < low, f32(low), below);
}

Expr F32Math::polynomial(const Expr& x, std::initializer_list<double> highest_first) const {
  Expr sum;
  for (const double c : highest_first) sum = sum ? madd(sum, x, f32(c)) : f32(c);
  return sum;
}

F32Math::Reduced F32Math::reduce_exp(const Expr& x) const {
  const Expr biased = madd(x, f32(kLog2E), f32(kRound));
  const Expr n = biased - kRound;
  const Expr r = madd(n, f32(-kLn2Lo), madd(n, f32(-kLn2Hi), x));
  return {n, bits_of(biased) - bits_of(f32(kRound)), r};
}

// exp(r) - 1 for |r| <= ln2 / 2.
Expr F32Math::exp_tail(const Expr& r) const {
  const Expr p = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2,
                                1.6666665459e-1, 5.0000001201e-1});
  return madd(r * r, p, r);
}

// exp(x) where 2^n is a normal number: |x| < 87.
Expr F32Math::exp_small(const Expr& x) const {
  const Reduced k = reduce_exp(x);
  return (exp_tail(k.r) + 1.0) * power_of_two(k.biased);
}

// The scale 2^n is applied in two steps, so that results round once into denormals and overflow
// only where they should.
Expr F32Math::exp(const Expr& x) const {
  const Reduced k = reduce_exp(clamp(x, -104.5, 89.0));
  const Expr half = shift_right(k.biased, 1);
  const Expr scaled = (exp_tail(k.r) + 1.0) * power_of_two(half);
  return scaled * power_of_two(k.biased - half);
}

// 2^n (tail + 1) - 1 = 2 (s tail + (s - 1/2)) with s = 2^(n-1), which stays finite.
Expr F32Math::expm1(const Expr& x) const {
  const Reduced k = reduce_exp(clamp(x, -20.0, 88.9));
  const Expr s = power_of_two(k.biased - 1);
  const Expr tail = exp_tail(k.r);
  const Expr scaled = 2.0 * madd(s, tail, s - 0.5);
  return select(eq(k.n, f32(0)), select(eq(x, f32(0)), x, tail), scaled);
}

// log(1 + f) + e ln 2 for 1 + f in [sqrt(1/2), sqrt(2)].
Expr F32Math::log_parts(const Expr& f, const Expr& e) const {
  const Expr z = f * f;
  const Expr p = polynomial(
      f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
          -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  const Expr cubic = madd(e, f32(kLn2Lo), p * f * z);
  const Expr tail = madd(f32(-0.5), z, cubic);
  return madd(e, f32(kLn2Hi), f + tail);
}

// Bits of sqrt(1/2), from which exponents are counted, so that mantissas are in [sqrt(1/2), sqrt
// 2).
constexpr int64_t kSqrtHalfBits = 0x3f3504f3;

Expr F32Math::log(const Expr& x) const {
  const Expr small = x < 1.17549435e-38;
  const Expr bits = bits_of(select(small, x * 8388608.0, x)) - i32(kSqrtHalfBits);
  const Expr e = cast(Elem::kF32, shift_right(bits, 23)) - select(small, f32(23), f32(0));
  const Expr mantissa = float_of(mask_bits(bits, 0x7fffff) + kSqrtHalfBits);
  const Expr y = log_parts(mantissa - 1.0, e);
  const Expr positive = select(x < kInf, y, x);  // infinity and NaN give themselves
  const Expr at_zero = select(eq(x, f32(0)), f32(-kInf), f32(kNan));
  return select(x <= 0.0, at_zero, positive);
}

// The exponent e is taken from 1 + x rounded; f = (1 + x) 2^-e - 1 = x 2^-e + (2^-e - 1) is then
// formed from x itself, so that nothing of a small x is lost. Huge x are scaled to keep 2^-e
// normal.
Expr F32Math::log1p(const Expr& x) const {
  const Expr huge = x > 1e30;
  const Expr y = select(huge, x * 5.421010862427522e-20, x);  // 2^-64
  const Expr exponent = shift_right(bits_of(y + 1.0) - i32(kSqrtHalfBits), 23);
  const Expr scale = power_of_two(0 - exponent);
  const Expr f = madd(y, scale, scale - 1.0);
  const Expr e = cast(Elem::kF32, exponent) + select(huge, f32(64), f32(0));
  const Expr finite = select(x < kInf, log_parts(f, e), x);
  const Expr inside = select(eq(x, f32(0)), x, finite);
  const Expr at_one = select(eq(x, f32(-1)), f32(-kInf), f32(kNan));
  return select(x <= -1.0, at_one, inside);
}

Expr F32Math::tanh(const Expr& x) const {
  const Expr a = absolute(x);
  const Expr z = x * x;
  const Expr p = polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                1.33314422036e-1, -3.33332819422e-1});
  const Expr near = madd(p * z, a, a);
  const Expr t = exp_small(2.0 * clamp(a, 0.0, 10.0));
  const Expr far = 1.0 - 2.0 / (t + 1.0);
  return with_sign_of(select(a < 0.625, near, far), x);
}

// 1 / (1 + z) or z / (1 + z) with z = exp(-|x|), which cannot overflow; what the rounding of 1 + z
// lost is put back.
Expr F32Math::sigmoid(const Expr& x) const {
  const Expr z = exp(-absolute(x));
  const Expr sum = z + 1.0;
  const Expr lost = z - (sum - 1.0);
  const Expr q = select(x >= 0.0, f32(1), z) / sum;
  return madd(-q, lost, q);
}

Expr F32Math::erf(const Expr& x) const {
  const Expr t = clamp(absolute(x), 0.0, 4.5);
  const Expr s = t * t;
  const Expr even = polynomial(t, {-1.72853470e-5, 3.83197126e-4});
  const Expr odd = polynomial(t, {-3.88396438e-3, 2.42546219e-2});
  Expr r = madd(even, s, odd);
  for (const double c : {-1.06777877e-1, -6.34846687e-1, -1.28717512e-1}) {
    r = madd(r, t, f32(c));
  }
  const Expr far = with_sign_of(1.0 - exp_small(madd(r, t, -t)), x);
  const Expr p = polynomial(x * x, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1,
                                    -3.76125336e-1, 1.28379166e-1});
  const Expr near = madd(p, x, x);
  return select(t > 0.921875, far, near);
}

Expr sigmoid_f64(const Expr& x) {
  const Expr z = prim(Prim::kExp, {-absolute(x)});
  return select(x >= 0.0, f64(1), z) / (z + 1.0);
}

}  // namespace

Expr expand_math(const Expr& e, bool fma) {
  const Expr& x = e->args[0];
  const bool wide = e->type.elem == Elem::kF64;
  if (e->op == Prim::kRsqrt) return 1.0 / prim(Prim::kSqrt, {x});
  if (e->op == Prim::kSigmoid && wide) return sigmoid_f64(x);
  if (wide) return {};
  const F32Math math(fma);
  switch (e->op) {
    case Prim::kExp:
      return math.exp(x);
    case Prim::kLog:
      return math.log(x);
    case Prim::kLog1p:
      return math.log1p(x);
    case Prim::kExpm1:
      return math.expm1(x);
    case Prim::kTanh:
      return math.tanh(x);
    case Prim::kErf:
      return math.erf(x);
    case Prim::kSigmoid:
      return math.sigmoid(x);
    default:
      return {};
  }
}

}  // namespace tapeless::loop
