// The reader of lists of passes with options: `a{k = v},b`.
#include "tapeless/compiler/passes.h"

#include "tapeless/compiler/pipeline.h"
#include "tapeless/compiler/reproducer.h"
#include "tapeless/ir/verify.h"
#include "tapeless/text/parser.h"

namespace tapeless {

namespace {

const Pass& find_pass(const Token& name, const Loc& loc) {
  std::vector<std::string> known;
  for (const Pass& pass : all_passes()) {
    if (pass.name == name.text) return pass;
    known.emplace_back(pass.name);
  }
  std::string near = nearest(name.text, known);
  compile_error(loc, "unknown pass `{}`{}", name.text,
                near.empty() ? std::string() : ", did you mean `" + near + "`?");
}

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
