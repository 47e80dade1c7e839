// clamp: values held between two bounds.
#include <algorithm>
#include <cmath>

#include "tapeless/ops/build.h"
#include "tapeless/ops/pointwise.h"

namespace tapeless {

namespace {

std::vector<Type> result_type(const TypeQuery& q) {
  bool low = q.has("min"), high = q.has("max");
  if (!low && !high) q.fail("`min` or `max` must be given");
  if (low && high && q.attr<double>("min") > q.attr<double>("max"))
    q.fail("min {} is above max {}", q.attr<double>("min"), q.attr<double>("max"));
  return infer::same_numeric(q);
}

void reference(ReferenceCall& c) {
  for (int64_t i = 0, n = c.out().numel(); i < n; ++i) {
    double y = c.in(0).get(i);
    if (c.op.has("min") && y < c.op.real("min")) y = c.op.real("min");
    if (c.op.has("max") && y > c.op.real("max")) y = c.op.real("max");
    c.out().set(i, y);
  }
}

loop::Expr element(Elements& e, int, const Indices& index) {
  loop::Expr y = e.operand(0, index);
  if (e.op.has("min")) y = loop::max(y, loop::literal_like(y, e.op.real("min")));
  if (e.op.has("max")) y = loop::min(y, loop::literal_like(y, e.op.real("max")));
  return y;
}

// dx = dy where min <= x <= max, else 0
void vjp(Vjp& v) {
  Value *x = v.operand(0), *dx = v.cotangent();
  auto keep = [&](const OpDef& compare, std::string_view bound) {
    if (!v.op.has(bound)) return;
    Value* limit = build::constant_like(v.b, x, v.op.real(bound));
    dx = build::keep_where(v.b, v.b.make(compare, {x, limit}), dx);
  };
  keep(kGeOp, "min");
  keep(kLeOp, "max");
  v.give(0, dx);
}

constexpr AttrDef kAttrs[] = {{.name = "min",
                               .kind = AttrKind::kReal,
                               .optional = true,
                               .doc = "lower bound; none if absent"},
                              {.name = "max",
                               .kind = AttrKind::kReal,
                               .optional = true,
                               .doc = "upper bound; none if absent"}};
constexpr Lowering kLowering{.element = element, .pointwise = true};
constexpr OpCase kCases[] = {{.operands = "f32[3, 4]", .attrs = "min = -1.0, max = 0.5"},
                             {.operands = "f32[4097]", .attrs = "min = 0.0"},
                             {.operands = "f64[0, 7]", .attrs = "max = 1.0"},
                             {.operands = "i64[17]", .attrs = "min = 1, max = 2"}};

}  // namespace

constinit const OpDef kClampOp{
    .name = "clamp",
    .doc =
        "x held between `min` and `max`, elementwise; NaN stays. The gradient passes where x "
        "lies within the bounds, themselves included.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .result_type = result_type,
    .reference = reference,
    .vjp = vjp,
    .lower = &kLowering,
    .cases = kCases,
};

}  // namespace tapeless
