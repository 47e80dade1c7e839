// Recomputation: the cheapest cut between forward and backward, with more and more ops that may be
// computed again until the kept bytes fit. Copies read what is kept through barriers, so that they
// are not merged with the originals.
//
//   %h = matmul %x, %w                %h = matmul %x, %w
//   %a = tanh %h                      %a = tanh %h
//   %y = sum %a                       %y = sum %a
//   %1 = mul %a, %a  (backward)  ->   %2 = barrier %h
//                                     %a_2 = tanh %2
//                                     %1 = mul %a_2, %a_2
#include "tapeless/remat/remat.h"

#include "tapeless/ops/recompute.h"

namespace tapeless {

namespace {

JointView::Keep choose(const JointView& view, const RematRequest& request, const Function& f) {
  JointView::Keep keep = view.cheapest(request.sizes, RecomputeCost::kCheap);
  if (!request.budget || keep.bytes <= *request.budget) return keep;
  keep = view.cheapest(request.sizes, RecomputeCost::kReduction);
  if (keep.bytes <= *request.budget) return keep;
  auto with = [&](int n) { return view.cheapest(request.sizes, RecomputeCost::kContraction, n); };
  int low = 0, high = view.contraction_count();
  keep = with(high);
  if (keep.bytes > *request.budget)
    compile_error(f.loc,
                  "@{} keeps at least {} bytes between forward and backward, {} more than its "
                  "memory limit of {}",
                  f.name, keep.bytes, keep.bytes - *request.budget, *request.budget);
  // The fewest contractions: `low` are too few, `high` are enough.
  while (high - low > 1) {
    int middle = (low + high) / 2;
    JointView::Keep tried = with(middle);
    if (tried.bytes > *request.budget) {
      low = middle;
    } else {
      high = middle;
      keep = std::move(tried);
    }
  }
  return keep;
}

}  // namespace

Module remat(const Module& module, const RematRequest& request) {
  Module out = clone(module);
  const Function& f = *out.get(request.function);
  const Function& joint = *out.get(f.name + ".vjp", f.loc);
  JointView view(out, f, joint);
  JointView::Keep keep = choose(view, request, f);

  ValueMap forward;
  std::unique_ptr<Function> made = clone_signature(joint, forward);
  Builder b(*made, &out);
  std::vector<Value*> wanted(joint.results.begin(), joint.results.begin() + view.first_gradient());
  wanted.insert(wanted.end(), keep.values.begin(), keep.values.end());
  view.emit_forward(b, forward, wanted);
  ValueMap kept;
  for (const auto& p : joint.params) kept.set(p.get(), forward[p.get()]);
  for (const Value* v : keep.values) kept.set(v, forward[v]);
  std::vector<Value*> gradients = view.emit_backward(b, kept, true);
  auto first = static_cast<size_t>(view.first_gradient());
  for (size_t i = 0; i < joint.results.size(); ++i)
    made->add_result(i < first ? forward[joint.results[i]] : gradients[i - first],
                     joint.result_names[i]);
  for (auto& slot : out.functions)
    if (slot->name == made->name) slot.swap(made);
  return out;
}

}  // namespace tapeless
