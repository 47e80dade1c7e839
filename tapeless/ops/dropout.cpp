// dropout: in train mode each element is dropped with a given rate and the others scaled up; in
// infer mode nothing happens. The mask is a function of the key, so the backward makes it again.
#include "tapeless/ops/build.h"
#include "tapeless/ops/infer.h"
#include "tapeless/ops/mode_form.h"
#include "tapeless/ops/ops.h"
#include "tapeless/ops/vjp.h"

namespace tapeless {

namespace {

constexpr AttrDef kAttrs[] = {{.name = "rate",
                               .kind = AttrKind::kReal,
                               .fallback = 0.5,
                               .doc = "probability of dropping an element, from 0 to 1"}};

std::vector<Type> result_type(const TypeQuery& q) {
  double rate = q.attr<double>("rate");
  if (!(rate >= 0 && rate <= 1)) q.fail("`rate` must lie between 0 and 1, got {}", rate);
  return infer::same_float(q);
}

// y = where(u < 1 - rate, x / (1 - rate), 0), u uniform in [0, 1) and f32 whatever x is, so that
// the mask does not depend on the precision.
void train_form(ModeForm& form) {
  Builder& b = form.b;
  Value* x = form.operand(0);
  double keep = 1 - form.op.real("rate");
  if (keep == 1) return form.result(0, x);
  if (keep == 0) return form.result(0, build::full_like(b, x, 0));
  Value* u = b.make(kRandomUniformOp, {form.key()}, {{"shape", x->type.shape}});
  Value* mask = b.make(kLtOp, {u, build::constant_like(b, u, keep)});
  form.result(0, build::keep_where(b, mask, build::mul(b, x, 1 / keep)));
}

void infer_form(ModeForm& form) { form.result(0, form.operand(0)); }

constexpr OpCase kCases[] = {{.operands = "f32[3, 41]", .attrs = "rate = 0.2"},
                             {.operands = "f32[17]", .attrs = "rate = 0.0"},
                             {.operands = "f32[17]", .attrs = "rate = 1.0"},
                             {.operands = "f64[0, 3]"}};

}  // namespace

constinit const OpDef kDropoutOp{
    .name = "dropout",
    .doc =
        "Train: each element is 0 with probability `rate`, else x / (1 - rate); the gradient "
        "uses the same mask. Infer: x.",
    .attrs = kAttrs,
    .min_operands = 1,
    .max_operands = 1,
    .legal_until = Stage::kSource,
    .train = train_form,
    .infer = infer_form,
    .result_type = result_type,
    .vjp = kNoGradient,
    .cases = kCases,
};

}  // namespace tapeless
