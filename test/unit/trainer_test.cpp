// The loop over compiled steps: what a run promises beyond a single step's numbers.
#include "tapeless/train/trainer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tapeless/support/diagnostics.h"
#include "tapeless/train/checks.h"

namespace tapeless {
namespace {

namespace fs = std::filesystem;

Recipe tiny_recipe() {
  Recipe r;
  r.name = "tiny";
  r.locs.emplace("", Loc{});
  r.model.kind = "mlp";
  r.model.hidden = 8;
  r.data.kind = "random";
  r.data.rows = 44;
  r.data.features = 6;
  r.data.classes = 3;
  r.optimizer.settings = {{"lr", 0.1, {}}};
  r.train.batch = 8;
  r.train.epochs = 2;
  r.eval.batch = 16;
  return r;
}

nn::NetFunction with_dropout() {
  return [](nn::Layers& l, Value* x) {
    return l.linear("fc2", l.dropout(l.relu(l.linear("fc1", x, 8)), 0.3), 3);
  };
}

TensorMap copy(const TensorMap& tensors) {
  TensorMap out;
  for (const auto& [name, tensor] : tensors) out.emplace(name, tensor.clone());
  return out;
}

void expect_same(const TensorMap& a, const TensorMap& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    ASSERT_TRUE(b.count(name)) << name;
    EXPECT_TRUE(same_bits(tensor, b.find(name)->second)) << name;
  }
}

std::string scratch_folder(const std::string& name) {
  fs::path folder = fs::temp_directory_path() / ("tapeless_trainer_test_" + name);
  fs::remove_all(folder);
  return folder.string();
}

TEST(Trainer, MemorisesAFewRows) {
  Recipe r = tiny_recipe();
  r.train.epochs = 60;
  r.data.rows = 16;
  r.optimizer.name = "adam";
  r.optimizer.settings = {{"lr", 0.02, {}}};
  Trainer trainer(r);
  TrainResult result = trainer.train();
  EXPECT_EQ(result.steps, 120);
  EntryCall eval = trainer.session().entry("eval_step");
  Evaluation train = evaluate(eval, trainer.data().train, 16);
  EXPECT_LT(train.loss, 0.3);
  EXPECT_GT(train.accuracy, 0.9);
}

TEST(Trainer, CountsThePartialBatch) {
  Trainer trainer(tiny_recipe());
  EXPECT_EQ(trainer.train().steps, 12);  // 44 rows by 8
  EXPECT_EQ(trainer.evaluate().rows, 44);
  Recipe r = tiny_recipe();
  r.data.last_batch = "drop";
  EXPECT_EQ(Trainer(r).train().steps, 10);
}

TEST(Trainer, SeparateUpdateGivesTheSameBits) {
  Recipe r = tiny_recipe();
  r.optimizer.name = "adamw";
  Trainer a(r, with_dropout());
  r.optimizer.update = "separate";
  Trainer b(r, with_dropout());
  a.train();
  b.train();
  expect_same(a.session().state().model(), b.session().state().model());
  expect_same(a.session().state().optimizer(), b.session().state().optimizer());
}

TEST(Trainer, MicroBatchesMakeTheBigBatch) {
  Recipe r = tiny_recipe();
  r.data.shuffle = false;
  Trainer big(r);
  r.train.batch = 4;
  r.train.accumulate = 2;
  Trainer micro(r);
  EXPECT_EQ(big.train().steps, micro.train().steps);
  for (const auto& [name, tensor] : big.session().state().model())
    for (int64_t i = 0; i < tensor.numel(); ++i)
      EXPECT_NEAR(tensor.get(i), micro.session().state().get(name).get(i), 1e-5) << name;
}

TEST(Trainer, ResumedIsUninterrupted) {
  Recipe r = tiny_recipe();
  r.optimizer.name = "adam";
  r.train.ema = 0.9;
  TrainerOptions options{.out = scratch_folder("whole")};
  Trainer whole(r, with_dropout(), options);
  whole.train();
  options.out = scratch_folder("parts");
  r.train.max_steps = 8;  // in the middle of the second epoch
  Trainer(r, with_dropout(), options).train();
  r.train.max_steps = 0;
  Trainer rest(r, with_dropout(), options);
  rest.resume(options.out);
  EXPECT_EQ(rest.session().steps(), 8);
  rest.train();
  expect_same(whole.session().state().model(), rest.session().state().model());
  expect_same(whole.session().state().optimizer(), rest.session().state().optimizer());
}

TEST(Trainer, EvaluationReadsAverages) {
  Recipe r = tiny_recipe();
  r.train.ema = 0.99;
  Trainer trainer(r);
  trainer.train();
  EntryCall plain = trainer.session().entry("eval_step");
  double raw = evaluate(plain, trainer.data().test, 16).loss;
  EXPECT_NE(trainer.evaluate().loss, raw);
}

TEST(Trainer, EvaluationChangesNothing) {
  Trainer trainer(tiny_recipe(), with_dropout());
  trainer.train();
  TensorMap before = copy(trainer.session().state().model());
  Evaluation a = trainer.evaluate(), b = trainer.evaluate();
  EXPECT_EQ(a.loss, b.loss);
  expect_same(before, trainer.session().state().model());
}

TEST(Trainer, StopsEarly) {
  Recipe r = tiny_recipe();
  r.train.epochs = 200;
  r.train.early_stop = 2;
  r.optimizer.settings = {{"lr", 0.0, {}}};
  TrainResult result = Trainer(r).train();
  EXPECT_TRUE(result.stopped_early);
  EXPECT_EQ(result.epochs, 3);
}

TEST(Trainer, SkipsWhatIsNotFinite) {
  Recipe r = tiny_recipe();
  r.optimizer.settings = {{"lr", 1e38, {}}};
  r.train.nonfinite = "skip";
  Trainer trainer(r);
  EXPECT_GT(trainer.train().skipped, 0);
  r.train.nonfinite = "check_loss";
  EXPECT_THROW(Trainer(r).train(), DataError);
}

TEST(Trainer, ValidationRowsAreSetAside) {
  Recipe r = tiny_recipe();
  r.data.validation = 0.25;
  Trainer trainer(r);
  EXPECT_EQ(trainer.data().train->rows(), 33);
  EXPECT_EQ(trainer.data().validation->rows(), 11);
}

TEST(Trainer, OneRowInABatchNorm) {
  Recipe r = tiny_recipe();
  r.data.rows = 41;
  nn::NetFunction net = [](nn::Layers& l, Value* x) {
    return l.linear("fc2", l.batch_norm("bn", l.linear("fc1", x, 8)), 3);
  };
  try {
    Trainer trainer(r, net);
    FAIL() << "the last batch of one row was taken";
  } catch (const DataError& e) {
    EXPECT_NE(std::string(e.what()).find("last_batch = \"drop\""), std::string::npos) << e.what();
  }
  r.data.last_batch = "drop";
  Trainer(r, net).train();
}

TEST(EntryCall, InputsAreCounted) {
  Trainer trainer(tiny_recipe());
  EntryCall infer = trainer.session().entry("infer");
  Tensor x(DType::kF32, {2, 6});
  try {
    infer.set_inputs({x, x});
    FAIL() << "two inputs were taken";
  } catch (const DataError& e) {
    EXPECT_STREQ(e.what(), "@infer takes 1 inputs, the data have 2 fields");
  }
}

}  // namespace
}  // namespace tapeless
