// The table of passes by name, and the reader of lists of them: `a{k = v},b`.
#include "tapeless/compiler/passes.h"

#include "tapeless/autodiff/differentiate.h"
#include "tapeless/autodiff/split.h"
#include "tapeless/compiler/optimizer_passes.h"
#include "tapeless/compiler/reproducer.h"
#include "tapeless/fuse/fuse.h"
#include "tapeless/inline/inline_calls.h"
#include "tapeless/ir/verify.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/precision/lower_precision.h"
#include "tapeless/remat/remat.h"
#include "tapeless/simplify/simplify.h"
#include "tapeless/text/parser.h"

namespace tapeless {

namespace {

// Lists of names are read as sizes: `[w, layer.b]`.
std::vector<std::string> names(const AttrMap& options, std::string_view key) {
  std::vector<std::string> out;
  auto found = options.find(key);
  if (found == options.end()) return out;
  for (const Dim& d : std::get<Shape>(found->second)) out.push_back(d.str());
  return out;
}

std::string text(const AttrMap& options, std::string_view key) {
  return std::get<std::string>(options.find(key)->second);
}

Module specialize_named(const Module& m, const AttrMap& options) {
  std::string mode = text(options, "mode");
  if (mode != "train" && mode != "infer")
    data_error("specialize: mode must be train or infer, got {}", mode);
  std::vector<ModeRequest> requests;
  for (const std::string& name : names(options, "functions"))
    requests.push_back({name, mode == "train" ? Mode::kTrain : Mode::kInfer});
  return specialize(m, requests);
}

constexpr AttrDef kSpecializeOptions[] = {
    {.name = "functions", .kind = AttrKind::kShape, .doc = "the functions to keep, as [f, g]"},
    {.name = "mode", .kind = AttrKind::kString, .doc = "train or infer"}};

constexpr AttrDef kDifferentiateOptions[] = {
    {.name = "function", .kind = AttrKind::kString, .doc = "what to differentiate"},
    {.name = "wrt", .kind = AttrKind::kShape, .optional = true, .doc = "parameters; all if absent"},
    {.name = "of", .kind = AttrKind::kShape, .optional = true, .doc = "results; all if absent"}};

constexpr AttrDef kSplitOptions[] = {
    {.name = "function", .kind = AttrKind::kString, .doc = "f of the <f>.vjp to split"}};

constexpr AttrDef kRematOptions[] = {
    {.name = "function", .kind = AttrKind::kString, .doc = "f of the <f>.vjp to rewrite"},
    {.name = "budget",
     .kind = AttrKind::kInt,
     .optional = true,
     .doc = "bytes kept between forward and backward; only cheap ops are repeated if absent"}};

constexpr AttrDef kFuseOptions[] = {
    {.name = "merge", .kind = AttrKind::kBool, .fallback = true, .doc = "off: one op a kernel"}};

constexpr AttrDef kKeepOptions[] = {
    {.name = "functions", .kind = AttrKind::kShape, .doc = "the functions to keep"}};

constexpr Pass kPasses[] = {
    {"keep_reachable", "Only these functions and what they name.", kKeepOptions,
     [](const Module& m, const AttrMap& o) { return keep_reachable(m, names(o, "functions")); }},
    {"specialize", "Ops that differ by mode take their form; makes <f>.<mode>.", kSpecializeOptions,
     specialize_named},
    {"lower_precision",
     "Contractions over bf16 values with f32 accumulation.",
     {},
     [](const Module& m, const AttrMap&) { return lower_precision(m); }},
    {"differentiate", "Adds <f>.vjp.", kDifferentiateOptions,
     [](const Module& m, const AttrMap& o) {
       return differentiate(m, {text(o, "function"), names(o, "wrt"), names(o, "of")});
     }},
    {"instantiate", "An optimizer's update function for one weight.", kInstantiateOptions,
     instantiate_pass},
    {"attach", "Adds the step functions of a differentiated loss.", kAttachOptions, attach_pass},
    {"inline_calls",
     "Calls become the bodies of their callees.",
     {},
     [](const Module& m, const AttrMap&) { return inline_calls(m); }},
    {"remat", "Computes values again in the backward of <f>.vjp.", kRematOptions,
     [](const Module& m, const AttrMap& o) {
       RematRequest request{.function = text(o, "function")};
       if (auto found = o.find("budget"); found != o.end())
         request.budget = std::get<int64_t>(found->second);
       return remat(m, request);
     }},
    {"split", "<f>.vjp as <f>.forward and <f>.backward.", kSplitOptions,
     [](const Module& m, const AttrMap& o) { return split(m, {text(o, "function")}); }},
    {"expand_composites",
     "Ops without a lowering of their own become simpler ones.",
     {},
     [](const Module& m, const AttrMap&) { return expand_composites(m); }},
    {"simplify",
     "Fewer and simpler ops with the same bits.",
     {},
     [](const Module& m, const AttrMap&) { return simplify(m); },
     Stage::kSpecialized},
    {"fuse", "Cuts functions into regions, one kernel each.", kFuseOptions,
     [](const Module& m, const AttrMap& o) {
       return fuse(m, std::get<bool>(o.find("merge")->second));
     },
     Stage::kSpecialized},
};

const Pass& find_pass(const Token& name, const Loc& loc) {
  std::vector<std::string> known;
  for (const Pass& pass : kPasses) {
    if (pass.name == name.text) return pass;
    known.emplace_back(pass.name);
  }
  std::string near = nearest(name.text, known);
  compile_error(loc, "unknown pass `{}`{}", name.text,
                near.empty() ? std::string() : ", did you mean `" + near + "`?");
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

namespace {

Module run_pass(const Pass& pass, const Module& module, const AttrMap& options, const Loc& loc) {
  if (module.stage < pass.from)
    compile_error(loc, "pass {} comes after {}, and this module is at stage {}", pass.name,
                  stage_name(pass.from), stage_name(module.stage));
  Module result = pass.run(module, options);
  verify(result, pass.name);
  return result;
}

}  // namespace

Module run_passes(Module module, const std::string& passes,
                  const std::function<void(std::string_view, const Module&)>& after) {
  Tokens tokens(std::make_shared<SourceText>(SourceText{"--passes", passes}));
  Symbols symbols;
  symbols.open = true;
  while (!tokens.at(TokenKind::kEnd)) {
    const Token name = tokens.expect(TokenKind::kWord, "the name of a pass");
    Loc loc = tokens.loc(name);
    const Pass& pass = find_pass(name, loc);
    OpDef options{.name = pass.name, .doc = pass.doc, .attrs = pass.options};
    AttrMap given = tokens.at("{") ? TypeParser(tokens, symbols).attrs(&options) : AttrMap();
    std::string text = passes.substr(name.begin, tokens.peek().begin - name.begin);
    try {
      module = run_pass(pass, module, complete_attrs(options, std::move(given), loc), loc);
    } catch (const InternalError& e) {
      throw_with_reproducer(e, module, fmt::format("tapeless opt %s --passes '{}'", text));
    }
    if (after) after(pass.name, module);
    if (!tokens.at(TokenKind::kEnd)) tokens.expect(",");
  }
  return module;
}

}  // namespace tapeless
