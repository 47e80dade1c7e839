// `tapeless run`: one call of one function, on tensors from a file, the command line or a
// generator.
#include <fmt/core.h>

#include <cmath>
#include <random>

#include "commands.h"
#include "tapeless/compiler/executable.h"
#include "tapeless/compiler/passes.h"
#include "tapeless/compiler/reproducer.h"
#include "tapeless/import/safetensors.h"
#include "tapeless/interp/interpret.h"
#include "tapeless/text/parse.h"
#include "tapeless/text/parser.h"

namespace tapeless {

namespace {

struct RunArguments {
  std::string file, entry, passes, in, out;
  std::vector<std::string> set, sizes;
  uint64_t seed = 0;
  int64_t max_elements = 64;
  int threads = 1;
  bool interp = false, compare = false;
};

// `x=f32[2] [1, 2]` or `k=key 7`: a name and a tensor.
std::pair<std::string, Tensor> parse_set(const std::string& text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos) data_error("--set {}: expected NAME=TENSOR", text);
  std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  std::string prefix = value.find('[') != std::string::npos ? "dense " : "";
  Tokens tokens(std::make_shared<SourceText>(SourceText{"--set " + name, prefix + value}));
  Symbols symbols;
  if (tokens.accept("key")) {
    Tensor key(DType::kKey, {});
    key.set_int(0, TypeParser(tokens, symbols).integer());
    return {name, key};
  }
  Attr attr = TypeParser(tokens, symbols).attr(AttrKind::kTensor);
  if (!tokens.at(TokenKind::kEnd)) tokens.unexpected("nothing more");
  const auto* tensor = std::get_if<Tensor>(&attr);
  if (tensor == nullptr) data_error("--set {}: expected a tensor, got {}", name, attr_str(attr));
  return {name, *tensor};
}

// Sizes of the symbols: from tensors that are given, `--size B=4`, else 3 or the bound below it.
SymbolValues symbol_sizes(const Function& f, const TensorMap& given,
                          const std::vector<std::string>& sizes) {
  constexpr int64_t kSize = 3;
  std::vector<Type> patterns, types;
  std::set<std::string> symbols;
  for (const auto& p : f.params) {
    for (const Dim& d : p->type.shape) d.collect_symbols(symbols);
    auto found = given.find(p->name);
    if (found == given.end() || found->second.rank() != p->type.rank()) continue;
    patterns.push_back(p->type);
    const Extents& shape = found->second.shape();
    types.emplace_back(p->type.dtype, Shape(shape.begin(), shape.end()));
  }
  SymbolValues values;
  for (const auto& [symbol, size] : bind_symbols(patterns, types)) values[symbol] = size.constant();
  for (const std::string& size : sizes) {
    Tokens tokens(std::make_shared<SourceText>(SourceText{"--size", size}));
    Symbols none;
    std::string symbol = tokens.expect(TokenKind::kWord, "a symbol").text;
    tokens.expect("=");
    values[symbol] = TypeParser(tokens, none).integer();
  }
  for (const std::string& symbol : symbols)
    values.emplace(symbol, std::min(kSize, f.bound(symbol).value_or(kSize)));
  return values;
}

// Floats in [-1, 1), integers in [0, 4).
Tensor draw(const Type& type, const SymbolValues& sizes, std::mt19937_64& generator) {
  Tensor out(type.dtype, eval_shape(type.shape, sizes));
  for (int64_t i = 0; i < out.numel(); ++i) {
    uint64_t bits = generator();
    if (is_float(type.dtype))
      out.set(i, static_cast<double>(bits >> 40) * 0x1p-23 - 1);
    else
      out.set_int(i, type.dtype == DType::kKey ? static_cast<int64_t>(bits)
                                               : static_cast<int64_t>(bits >> 62));
  }
  return out;
}

std::vector<Tensor> collect_arguments(const Function& f, const RunArguments& arguments) {
  TensorMap given;
  if (!arguments.in.empty()) given = read_safetensors(arguments.in).tensors;
  for (const std::string& text : arguments.set) {
    auto [name, tensor] = parse_set(text);
    if (f.find_param(name) == nullptr)
      data_error("--set {}: @{} has no such parameter", name, f.name);
    given[name] = tensor;
  }
  SymbolValues sizes = symbol_sizes(f, given, arguments.sizes);
  std::mt19937_64 generator(arguments.seed);
  std::vector<Tensor> out;
  for (const auto& p : f.params) {
    auto found = given.find(p->name);
    out.push_back(found != given.end() ? found->second : draw(p->type, sizes, generator));
  }
  return out;
}

// Compiled results are those of the interpreter but for the order of sums and the last bits of
// functions: the largest element bounds the terms that were added.
void check_close(const Tensor& got, const Tensor& want, const std::string& name) {
  double unit = 0, largest = 1;
  if (is_float(want.dtype()))
    unit = want.dtype() == DType::kF64 ? 1e-12 : want.dtype() == DType::kF32 ? 2e-5 : 1e-2;
  for (int64_t i = 0; i < want.numel(); ++i)
    if (std::isfinite(want.get(i))) largest = std::max(largest, std::abs(want.get(i)));
  for (int64_t i = 0; i < want.numel(); ++i) {
    double a = got.get(i), b = want.get(i);
    bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= unit * largest;
    TL_CHECK(same, "result {}, element {}: compiled {}, interpreted {}", name, i, a, b);
  }
}

std::vector<Tensor> run_compiled(const Module& module, const std::string& entry,
                                 const std::vector<Tensor>& inputs, int threads, bool fuse) {
  CompileOptions options{.threads = threads, .fuse = fuse, .entries = {entry}};
  return compile(module, options)->run(entry, inputs);
}

// Close to the interpreter's results, and the same bits with other threads and without fusion.
void check_ways(const Module& module, const std::string& entry, const std::vector<Tensor>& inputs,
                int threads, const std::vector<Tensor>& got) {
  std::vector<Tensor> want = interpret(module, entry, inputs);
  for (size_t i = 0; i < want.size(); ++i) check_close(got[i], want[i], std::to_string(i));
  auto same = [&](const std::vector<Tensor>& other, const char* way) {
    for (size_t i = 0; i < got.size(); ++i)
      TL_CHECK(same_bits(got[i], other[i]), "result {} has other bits {}", i, way);
  };
  same(run_compiled(module, entry, inputs, threads == 1 ? 3 : 1, true), "at another thread count");
  same(run_compiled(module, entry, inputs, threads, false), "without fusion");
}

std::vector<Tensor> call(const Module& module, const std::string& entry,
                         const std::vector<Tensor>& inputs, const RunArguments& arguments) {
  std::vector<Tensor> got;  // compile writes reproducers of its own
  if (!arguments.interp) got = run_compiled(module, entry, inputs, arguments.threads, true);
  try {
    if (arguments.interp) return interpret(module, entry, inputs);
    if (arguments.compare) check_ways(module, entry, inputs, arguments.threads, got);
    return got;
  } catch (const InternalError& e) {
    const char* way = arguments.interp ? " --interp" : " --compare";
    throw_with_reproducer(e, module, fmt::format("tapeless run %s --entry {}{}", entry, way));
  }
}

void run(const RunArguments& arguments) {
  Module module = run_passes(parse_file(arguments.file), arguments.passes);
  const Function& f = *module.get(arguments.entry);
  std::vector<Tensor> inputs = collect_arguments(f, arguments);
  std::vector<Tensor> results = call(module, f.name, inputs, arguments);
  TensorMap named;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string name = i < f.result_names.size() ? f.result_names[i] : "";
    if (name.empty()) name = std::to_string(i);
    fmt::print("{}: {}\n", name, results[i].str(arguments.max_elements));
    named[name] = results[i];
  }
  if (!arguments.out.empty()) write_safetensors(arguments.out, named);
}

}  // namespace

void add_run(CLI::App& app) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Call one function of a .tir file once");
  command->add_option("FILE", a->file, "a .tir file; - is the standard input")->required();
  command->add_option("--entry", a->entry, "the function to call")->required();
  command->add_option("--passes", a->passes, "passes to run first, as in `tapeless opt`");
  command->add_option("--in", a->in, "a .safetensors file with tensors by parameter name");
  command->add_option("--set", a->set, "one tensor: x='f32[2] [1.0, 2.5]', n='i64 3', k='key 7'");
  command->add_option("--size", a->sizes, "the size of a symbol for tensors that are drawn: B=4");
  command->add_option("--seed", a->seed, "for tensors that are not given: they are drawn");
  command->add_option("--out", a->out, "write the results to this .safetensors file");
  command->add_option("--max-elements", a->max_elements, "print at most so many a tensor");
  command->add_option("--threads", a->threads, "threads of the compiled code");
  command->add_flag("--interp", a->interp, "run op by op through the reference interpreter");
  command
      ->add_flag("--compare", a->compare,
                 "fail where the interpreter, other threads or no fusion differ")
      ->excludes("--interp");
  command->callback([a] { run(*a); });
}

}  // namespace tapeless
