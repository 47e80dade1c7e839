// Optimizers and step functions, compiled and interpreted: the cases of the conformance list, by
// number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tapeless/autodiff/differentiate.h"
#include "tapeless/compiler/executable.h"
#include "tapeless/interp/interpret.h"
#include "tapeless/ir/verify.h"
#include "tapeless/mode/specialize.h"
#include "tapeless/optim/attach.h"
#include "tapeless/optim/groups.h"
#include "tapeless/optim/parse_optimizer.h"
#include "tapeless/text/parse.h"

namespace tapeless::optim {
namespace {

Module parse_text(const std::string& text) {
  return parse(std::make_shared<SourceText>(SourceText{"test.tir", text}));
}

// The gradient of %w is %c.
std::string linear_loss(const std::string& type) {
  return "func @loss(%c: " + type + " input, %w: " + type + R"( param) -> (f32[], f32[]) {
    %p = mul %c, %w
    %s = sum %p
    %one = constant {value = f32 1.0}
    return %s, %one
  })";
}

std::vector<double> elements(const Tensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.numel(); ++i) out.push_back(t.get(i));
  return out;
}

using Values = std::map<std::string, Tensor>;

// As the interpreter says, but for the order of sums and the last bits of functions.
void expect_close(const Tensor& got, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(got.type_str(), wanted.type_str()) << what;
  for (int64_t i = 0; i < wanted.numel(); ++i) {
    double a = got.get(i), b = wanted.get(i);
    bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (!same) {
      ASSERT_NEAR(a, b, 2e-5 * (1 + std::fabs(b))) << what;
    }
  }
}

// A compiled step with its tensors by name: parameters, state and hypers.
class Session {
 public:
  Session(const std::string& text, StepOptions options) : options_(std::move(options)) {
    options_.loss = "loss.train";
    Module source = parse_text(text);
    std::vector<ModeRequest> requests = {{"loss", Mode::kTrain}};
    Module specialized = specialize(source, requests);
    Module gradient =
        differentiate(specialized, {"loss.train", trainable(specialized, options_), {"0"}});
    Stepped stepped = attach(gradient, options_);
    module = std::move(stepped.module);
    plan = std::move(stepped.plan);
    verify(module, "attach");
    for (const HyperPlan& h : plan.hypers) values[h.name] = Tensor::scalar(DType::kF64, h.initial);
    for (const StatePlan& a : plan.accumulators)
      values[a.name] = Tensor(a.type.dtype, eval_shape(a.type.shape, {}));
  }

  void init() {
    if (plan.states.empty()) return;
    for (const StatePlan& s : plan.states)
      values[s.name] = Tensor(s.type.dtype, eval_shape(s.type.shape, {}));
    run("init_optimizer");
  }

  // Runs a function on the tensors by name, as machine code and through the interpreter, which must
  // agree; the results of the machine code go back to the tensors, `%w` as w.
  void run(const std::string& name) {
    if (executable_ == nullptr) executable_ = compile(module, {});
    const Function& f = *module.get(name);
    std::vector<Tensor> arguments, copies;
    for (const auto& p : f.params) {
      TL_CHECK(values.count(p->name) != 0, "no %{}", p->name);
      arguments.push_back(values[p->name]);
      copies.push_back(values[p->name].clone());
    }
    std::vector<Tensor> results = executable_->run(name, copies);
    std::vector<Tensor> wanted = interpret(module, name, arguments);
    for (size_t i = 0; i < results.size(); ++i) {
      std::string key = f.result_names[i];
      expect_close(results[i], wanted[i], fmt::format("{} {}", name, key));
      if (key.starts_with("%")) key = key.substr(1);
      values[key] = results[i];
    }
  }

  void set(const std::string& name, Extents shape, std::vector<double> elements,
           DType dtype = DType::kF32) {
    values[name] = Tensor::from<double>(dtype, std::move(shape), elements);
  }
  void hyper(const std::string& name, double value) {
    values[name] = Tensor::scalar(DType::kF64, value);
  }
  double get(const std::string& name) { return values.at(name).get(0); }

  Module module;
  StepPlan plan;
  Values values;

 private:
  StepOptions options_;
  std::shared_ptr<const Executable> executable_;
};

StepOptions with(const std::string& optimizer, Settings settings) {
  StepOptions o;
  o.optimizer = optimizer;
  o.settings = std::move(settings);
  o.decay_all = true;
  return o;
}

// One scalar weight of 1 under these gradients, one step each; the weight after each.
std::vector<double> run_scalar(const StepOptions& options, const std::vector<double>& gradients) {
  Session s(linear_loss("f32[1]"), options);
  s.set("w", {1}, {1});
  s.init();
  std::vector<double> out;
  for (size_t i = 0; i < gradients.size(); ++i) {
    s.set("c", {1}, {gradients[i]});
    s.hyper("step", static_cast<double>(i + 1));
    s.run("train_step");
    out.push_back(s.get("w"));
  }
  return out;
}

TEST(Conformance, Case1WhereEpsStands) {
  StepOptions o = with("adam", {{"lr", 0.1}, {"eps", 1e-3}});
  EXPECT_NEAR(run_scalar(o, {1e-3, 1e-3, 1e-3})[2], 0.85, 1e-6);
  o.settings["eps"] = 1e-8;
  EXPECT_NEAR(run_scalar(o, {1e-3, 1e-3, 1e-3})[2], 0.7000030, 1e-6);
}

TEST(Conformance, Case2FirstStepsOfAdam) {
  std::vector<double> w = run_scalar(with("adam", {{"lr", 0.1}}), {0.5, 0.5, 0.5});
  EXPECT_NEAR(w[0], 0.9, 1e-6);
  EXPECT_NEAR(w[1], 0.8, 1e-6);
  EXPECT_NEAR(w[2], 0.7, 1e-6);
}

TEST(Conformance, Case3CoupledAndDecoupledDecay) {
  Settings settings = {{"lr", 0.1}, {"weight_decay", 0.1}};
  EXPECT_NEAR(run_scalar(with("adam", settings), {0.5, 0.5, 0.5})[2], 0.7001746, 1e-6);
  EXPECT_NEAR(run_scalar(with("adamw", settings), {0.5, 0.5, 0.5})[2], 0.6732890, 1e-6);
}

TEST(Conformance, Case4DecayMask) {
  StepOptions o = with("adamw", {{"lr", 0.1}, {"weight_decay", 0.1}});
  std::vector<double> zeros(10, 0.0);
  EXPECT_NEAR(run_scalar(o, zeros)[9], 0.9043821, 1e-6);
  o.decay_all = false;  // rank 1: excluded by default
  EXPECT_EQ(run_scalar(o, zeros)[9], 1.0);
}

TEST(Conformance, Case4FrozenAndAbsent) {
  StepOptions o = with("adamw", {{"lr", 0.1}, {"weight_decay", 0.1}});
  o.groups.push_back({.name = "backbone", .patterns = {"back*"}, .optimizer = "", .settings = {}});
  o.groups[0].frozen = true;
  Session s(R"(
    func @loss(%c: f32[1] input, %back.w: f32[1] param, %unused: f32[1] param, %w: f32[1] param)
        -> (f32[], f32[]) {
      %p = mul %c, %w
      %q = mul %p, %back.w
      %s = sum %q
      %one = constant {value = f32 1.0}
      return %s, %one
    })",
            o);
  EXPECT_EQ(s.plan.updated, std::vector<std::string>{"w"});
  EXPECT_TRUE(s.plan.find("back.w")->frozen);
  EXPECT_TRUE(s.plan.find("unused")->absent);
  EXPECT_EQ(s.plan.states.size(), 2u);
  for (const auto& op : s.module.get("train_step")->body)
    for (const auto& r : op->results) EXPECT_EQ(r->name.find("back.w"), std::string::npos);
}

// Changing hypers at every step is nothing but other arguments.
TEST(Conformance, Case6HypersChangeEveryStep) {
  Session s(linear_loss("f32[1]"), with("adam", {{"lr", 0.1}}));
  s.set("w", {1}, {1});
  s.set("c", {1}, {0.5});
  s.init();
  double m = 0, v = 0, w = 1;
  for (int t = 1; t <= 100; ++t) {
    double lr = 0.1 / t, beta1 = 0.9 - 0.001 * t;
    s.hyper("lr", lr);
    s.hyper("beta1", beta1);
    s.hyper("step", t);
    s.run("train_step");
    m = beta1 * m + (1 - beta1) * 0.5;
    v = 0.999 * v + 0.001 * 0.25;
    w -= lr / (1 - std::pow(beta1, t)) * m / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    ASSERT_NEAR(s.get("w"), w, 1e-5) << t;
  }
}

TEST(Conformance, Case7ClipOfHugeGradients) {
  StepOptions o = with("sgd", {{"lr", 1.0}});
  o.clip_norm = 2.0;
  Session s(linear_loss("f32[2]"), o);
  s.set("w", {2}, {0, 0});
  s.set("c", {2}, {3e19, 4e19});
  s.run("train_step");
  EXPECT_NEAR(s.values["w"].get(0), -1.2, 1e-6);
  EXPECT_NEAR(s.values["w"].get(1), -1.6, 1e-6);
  EXPECT_NEAR(s.get("grad_norm") / 5e19, 1, 1e-6);
  EXPECT_EQ(s.values["nonfinite"].get_int(0), kAllFinite);
}

TEST(Conformance, Case7ClipInF64) {
  StepOptions o = with("sgd", {{"lr", 1.0}});
  o.clip_norm = 1.0;
  Session s(R"(func @loss(%c: f64[2] input, %w: f64[2] param) -> (f64[], f64[]) {
    %p = mul %c, %w
    %s = sum %p
    %one = constant {value = f64 1.0}
    return %s, %one
  })",
            o);
  s.set("w", {2}, {0, 0}, DType::kF64);
  s.set("c", {2}, {3e200, 4e200}, DType::kF64);
  s.run("train_step");
  EXPECT_NEAR(s.values["w"].get(0), -0.6, 1e-12);
  s.set("w", {2}, {0, 0}, DType::kF64);
  s.set("c", {2}, {0, 0}, DType::kF64);
  s.run("train_step");
  EXPECT_EQ(elements(s.values["w"]), (std::vector<double>{0, 0}));
}

TEST(Conformance, Case7BadGradientSkipsTheStep) {
  StepOptions o = with("adam", {{"lr", 0.1}});
  o.nonfinite = Nonfinite::kSkip;
  Session s(R"(func @loss(%c: f32[2] input, %a: f32[2] param, %b: f32[2] param) -> (f32[], f32[]) {
    %p = mul %c, %b
    %s = sum %p
    %t = sum %a
    %y = add %s, %t
    %one = constant {value = f32 1.0}
    return %y, %one
  })",
            o);
  s.set("a", {2}, {1, 2});
  s.set("b", {2}, {0, 0});
  s.init();
  s.set("c", {2}, {std::numeric_limits<double>::infinity(), 1});
  Values before = s.values;
  s.run("train_step");
  EXPECT_EQ(s.values["nonfinite"].get_int(0), kBadLoss);  // inf * 0
  s.set("b", {2}, {1, 1});
  s.set("c", {2}, {3e38, 1});
  s.run("train_step");
  EXPECT_EQ(s.values["nonfinite"].get_int(0), kAllFinite);
  for (const char* name : {"opt.a.m", "opt.b.v"})
    EXPECT_FALSE(same_bits(s.values[name], before[name])) << name;
}

TEST(Conformance, Case7SkipNamesTheTensor) {
  StepOptions o = with("adam", {{"lr", 0.1}});
  o.nonfinite = Nonfinite::kSkip;
  // The gradient of %b overflows; the loss stays finite where %b is 0.
  Session s(R"(func @loss(%c: f32[1] input, %a: f32[1] param, %b: f32[1] param) -> (f32[], f32[]) {
    %q = mul %b, %c
    %r = mul %q, %c
    %t = add %r, %a
    %s = sum %t
    %one = constant {value = f32 1.0}
    return %s, %one
  })",
            o);
  s.set("c", {1}, {3e38});
  s.set("a", {1}, {1});
  s.set("b", {1}, {0});
  s.init();
  Values before = s.values;
  s.run("train_step");
  ASSERT_EQ(s.values["nonfinite"].get_int(0), 1);
  EXPECT_EQ(s.plan.updated[1], "b");
  for (const char* name : {"a", "b", "opt.a.m", "opt.b.v"})
    EXPECT_TRUE(same_bits(s.values[name], before[name])) << name;
}

TEST(Conformance, Case7NegativeLimitsAreRefused) {
  StepOptions o = with("sgd", {{"lr", 1.0}});
  o.clip_norm = -1.0;
  EXPECT_THROW(Session(linear_loss("f32[2]"), o), CompileError);
  o.clip_norm = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(Session(linear_loss("f32[2]"), o), CompileError);
}

// A step reads a bf16 weight, but adds to the f32 one: no update is too small for it.
TEST(Conformance, Case8SmallUpdatesOfRoundedWeights) {
  Session s(R"(func @loss(%c: f32[1] input, %w: f32[1] param) -> (f32[], f32[]) {
    %r = round_to %w {to = bf16}
    %p = mul %c, %r
    %s = sum %p
    %one = constant {value = f32 1.0}
    return %s, %one
  })",
            with("sgd", {{"lr", 1.0}}));
  s.set("w", {1}, {1});
  s.set("c", {1}, {6e-4});
  for (int t = 1; t <= 100; ++t) s.run("train_step");
  EXPECT_NEAR(s.get("w"), 0.94, 1e-5);
}

// The dense update of a table whose gradient comes by rows; duplicates are summed first.
TEST(Conformance, Case5EmbeddingRows) {
  Session s(R"(func @loss(%ids: i64[3] input, %c: f32[3, 2] input, %table: f32[4, 2] param)
      -> (f32[], f32[]) {
    %rows = gather %table, %ids
    %p = mul %rows, %c
    %s = sum %p
    %one = constant {value = f32 1.0}
    return %s, %one
  })",
            with("adam", {{"lr", 0.1}}));
  s.set("table", {4, 2}, std::vector<double>(8, 1));
  s.init();
  s.set("ids", {3}, {2, 1, 2}, DType::kI64);
  s.set("c", {3, 2}, {0.25, 0.25, 0.5, 0.5, 0.75, 0.75});
  double expected[] = {0.9, 0.832994, 0.781199};
  for (int t = 1; t <= 3; ++t) {
    s.hyper("step", t);
    s.run("train_step");
    EXPECT_NEAR(s.values["table"].get(4), expected[t - 1], 1e-6);
    EXPECT_EQ(s.values["table"].get(0), 1);
    s.set("c", {3, 2}, std::vector<double>(6, 0));
  }
}

constexpr const char* kTokens = R"(
func @loss(%x: f32[T<=64] input, %w: f32[] param) -> (f32[], f32[]) {
  %p = mul %x, %w
  %s = sum %p
  %n = numel {shape = [T], dtype = f32}
  return %s, %n
})";

TEST(Conformance, Case10AccumulationIsOneBigBatch) {
  StepOptions o = with("sgd", {{"lr", 1.0}});
  o.accumulation = true;
  Session s(kTokens, o);
  s.set("w", {}, {1});
  s.set("x", {2}, {1, 3});
  s.run("accumulate");
  s.set("x", {6}, std::vector<double>(6, 0.5));
  s.run("accumulate");
  s.run("update_accumulated");
  EXPECT_NEAR(s.get("loss"), 0.875, 1e-7);
  EXPECT_NEAR(s.get("w"), 1 - 0.875, 1e-7);
  EXPECT_EQ(s.get("acc.w"), 0);
  EXPECT_EQ(s.get("acc.weight"), 0);

  s.set("w", {}, {1});
  s.set("x", {8}, {1, 3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  s.run("train_step");
  EXPECT_NEAR(s.get("loss"), 0.875, 1e-7);
  EXPECT_NEAR(s.get("w"), 1 - 0.875, 1e-7);
}

TEST(Conformance, Case10DecayAndClipOnce) {
  StepOptions o = with("adamw", {{"lr", 0.1}, {"weight_decay", 0.1}});
  o.accumulation = true;
  o.clip_norm = 0.5;
  Session big(kTokens, o), small(kTokens, o);
  for (Session* s : {&big, &small}) {
    s->set("w", {}, {1});
    s->init();
  }
  big.set("x", {4}, {1, 2, 3, 4});
  big.run("train_step");
  for (const auto& part : {std::vector<double>{1}, {2, 3}, {4}}) {
    small.set("x", {static_cast<int64_t>(part.size())}, part);
    small.run("accumulate");
  }
  small.run("update_accumulated");
  EXPECT_NEAR(small.get("w"), big.get("w"), 1e-7);
  EXPECT_NEAR(small.get("grad_norm"), 2.5, 1e-6);
}

TEST(Conformance, Case20NoWeightMeansNoGradient) {
  Session s(kTokens, with("sgd", {{"lr", 1.0}}));
  s.set("w", {}, {1});
  s.set("x", {0}, {});
  s.run("train_step");
  EXPECT_EQ(s.get("loss"), 0);
  EXPECT_EQ(s.get("w"), 1);
}

// A user's scalar loss is the mean over the rows of the batch.
TEST(Step, ScalarLossHasTheWeightOfItsRows) {
  StepOptions o = with("sgd", {{"lr", 1.0}});
  o.accumulation = true;
  Session s(R"(func @loss(%x: f32[B<=9, 1] input, %w: f32[] param) -> f32[] {
    %p = mul %x, %w
    return mean %p
  })",
            o);
  s.set("w", {}, {1});
  s.set("x", {2, 1}, {1, 3});
  s.run("accumulate");
  EXPECT_EQ(s.get("weight"), 2);
  s.set("x", {1, 1}, {8});
  s.run("accumulate");
  s.run("update_accumulated");
  EXPECT_NEAR(s.get("w"), 1 - 4.0, 1e-6);
  EXPECT_NEAR(s.get("loss"), 4.0, 1e-6);
}

constexpr const char* kNet = R"(
func @loss(%x: f32[B<=64, 4] input, %w: f32[4, 3] param, %k: f32[3, 2, 2] param, %b: f32[3] param)
    -> (f32[], f32[], norm: f32[]) {
  %h = matmul %x, %w
  %y = add %h, %b
  %t = tanh %y
  %q = sum %k {axes = [1, 2]}
  %u = mul %t, %q
  %s = sum %u
  %n = numel {shape = [B], dtype = f32}
  %m = mean %t
  return %s, %n, %m
})";

void start_net(Session& s) {
  std::vector<double> x, w, k;
  for (int i = 0; i < 20; ++i) x.push_back(std::sin(i * 1.7));
  for (int i = 0; i < 12; ++i) w.push_back(std::cos(i * 0.9)), k.push_back(std::sin(i * 0.4 + 1));
  s.set("x", {5, 4}, x);
  s.set("w", {4, 3}, w);
  s.set("k", {3, 2, 2}, k);
  s.set("b", {3}, {0.1, -0.2, 0.3});
  s.init();
}

TEST(Conformance, Case11InlineAndSeparateGiveTheSameBits) {
  for (const std::string& name : builtin_optimizers()) {
    for (bool clip : {false, true}) {
      StepOptions o = with(name, {{"lr", 0.01}});
      o.separate_step = true;
      if (clip) o.clip_norm = 0.7;
      o.ema_decay = 0.9;
      Session one(kNet, o), two(kNet, o);
      start_net(one);
      start_net(two);
      for (int t = 1; t <= 3; ++t) {
        one.hyper("step", t);
        two.hyper("step", t);
        one.run("train_step");
        two.run("grad_step");
        two.run("update");
      }
      EXPECT_TRUE(same_bits(one.values["loss"], two.values["loss"])) << name;
      for (const auto& [key, tensor] : one.values)
        EXPECT_TRUE(same_bits(tensor, two.values.at(key))) << name << " " << key;
      EXPECT_GT(std::fabs(one.values["w"].get(0) - 1), 1e-5) << name;
    }
  }
}

TEST(Conformance, Case9TiedWeightsAreOneParameter) {
  Session s(R"(func @loss(%ids: i64[2] input, %x: f32[2, 2] input, %e: f32[3, 2] param)
      -> (f32[], f32[]) {
    %rows = gather %e, %ids
    %head = matmul %x, %e {transpose_b = true}
    %a = sum %rows
    %b = sum %head
    %s = add %a, %b
    %one = constant {value = f32 1.0}
    return %s, %one
  })",
            with("sgd", {{"lr", 1.0}, {"momentum", 0.9}}));
  EXPECT_EQ(s.plan.states.size(), 1u);
  s.set("e", {3, 2}, std::vector<double>(6, 0));
  s.set("ids", {2}, {1, 1}, DType::kI64);
  s.set("x", {2, 2}, {1, 2, 3, 4});
  s.init();
  s.run("train_step");
  EXPECT_EQ(elements(s.values["e"]), (std::vector<double>{-4, -6, -6, -8, -4, -6}));
}

TEST(Step, Patterns) {
  for (const char* pattern : {"conv1.weight", "*", "*weight", "conv?.*", "c*1*t", "conv1.weight**"})
    EXPECT_TRUE(matches(pattern, "conv1.weight")) << pattern;
  for (const char* pattern : {"", "conv", "weight", "*bias", "conv??.*", "conv1.weight?"})
    EXPECT_FALSE(matches(pattern, "conv1.weight")) << pattern;
  EXPECT_TRUE(matches("**", ""));
}

TEST(Step, GroupsHaveHypersOfTheirOwn) {
  StepOptions o = with("sgd", {{"lr", 0.5}});
  Group head{.name = "head", .patterns = {"b"}, .optimizer = "", .settings = {{"lr", 0.25}}};
  Group other{.name = "kernels", .patterns = {"k*"}, .optimizer = "adamw", .settings = {}};
  o.groups = {head, other};
  Session s(kNet, o);
  std::vector<std::string> names;
  for (const HyperPlan& h : s.plan.hypers) names.push_back(h.name);
  EXPECT_NE(std::find(names.begin(), names.end(), "head.lr"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "kernels.beta1"), names.end());
  EXPECT_EQ(s.plan.find("k")->optimizer, "adamw");
  EXPECT_EQ(s.plan.find("k")->states, (std::vector<std::string>{"opt.k.m", "opt.k.v"}));
  start_net(s);
  s.run("train_step");
}

TEST(Step, ClipByValueAndAverages) {
  StepOptions o = with("sgd", {{"lr", 1.0}});
  o.clip_value = 0.5;
  o.ema_decay = 0.75;
  Session s(linear_loss("f32[3]"), o);
  s.set("w", {3}, {1, 1, 1});
  s.set("c", {3}, {2, -3, 0.25});
  s.init();
  s.run("train_step");
  EXPECT_EQ(elements(s.values["w"]), (std::vector<double>{0.5, 1.5, 0.75}));
  EXPECT_EQ(elements(s.values["ema.w"]), (std::vector<double>{0.875, 1.125, 0.9375}));
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const CompileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Step, MistakesInOptions) {
  auto message = [](StepOptions o) { return message_of([&] { Session s(kNet, o); }); };
  StepOptions o = with("adamv", {});
  EXPECT_NE(message(o).find("no optimizer `adamv`, did you mean `adam"), std::string::npos);
  o = with("adam", {{"learning_rate", 0.1}});
  EXPECT_NE(message(o).find("optimizer @adam has no `learning_rate`"), std::string::npos);
  o = with("adam", {{"beta", 0.1}});
  EXPECT_NE(message(o).find("did you mean `beta1`"), std::string::npos);
  o = with("adam", {{"lr", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_NE(message(o).find("needs 0.0 <= finite lr, got lr = nan"), std::string::npos);
  o = with("adam", {{"beta1", 1.0}});
  EXPECT_NE(message(o).find("needs 0.0 <= finite beta1 < 1.0"), std::string::npos);
  o = with("adam", {});
  o.groups.push_back({.name = "g", .patterns = {"conv*"}, .optimizer = "", .settings = {}});
  EXPECT_NE(message(o).find("pattern `conv*` matches no parameter"), std::string::npos);
  o = with("adam", {{"lr", std::string("fast")}});
  EXPECT_NE(message(o).find("`lr` of @adam must be a number"), std::string::npos);
}

}  // namespace
}  // namespace tapeless::optim
