// A fit that was killed resumes from its checkpoint and ends with the same bits.
#include <dma/regressor/model_file.h>
#include <dma/regressor/regressor.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "regressor/wave_table.h"
#include "sanitized.h"
#include "scratch.h"

namespace dma {
namespace {

using test::content;
using test::Scratch;
using test::wave_table;

struct Killed {};

// Ends a fit at the given call, as nothing but a crash would.
class Killer {
 public:
  explicit Killer(std::size_t at) : at_(at) {}
  OnProgress callback() {
    return [this](const FitProgress&) {
      if (++calls_ == at_) throw Killed();
      return true;
    };
  }
  std::size_t calls() const { return calls_; }

 private:
  std::size_t at_;
  std::size_t calls_ = 0;
};

constexpr std::size_t never_kill = 0;

struct Case {
  const char* name;
  std::size_t rows;
  RegressorOptions options;
};

RegressorOptions quick(RegressorOptions options) {
  options.target = "y";
  if (options.hidden.empty()) options.hidden = {4};
  options.ensemble = 2;
  options.threads = 1;
  return options;
}

std::vector<Case> cases() {
  return {
      {"joint", 60, quick({.epochs = 15})},
      {"joint, one noise", 60, quick({.constant_noise = true, .epochs = 15})},
      {"joint, known noise", 60, quick({.noise = 1.5, .epochs = 15})},
      {"joint, many rows", 6500, quick({.hidden = {2}, .epochs = 30})},
      {"independent", 60, quick({.belief = BeliefKind::independent, .epochs = 25, .tolerance = 0})},
      {"independent, float", 60,
       quick({.belief = BeliefKind::independent, .epochs = 25, .single_precision = true})},
      {"independent, patience", 60,
       quick({.belief = BeliefKind::independent, .epochs = 60, .tolerance = 0.01, .patience = 2})},
      {"direct", 60,
       quick({.belief = BeliefKind::independent,
              .rule = Rule::direct,
              .epochs = 6,
              .batch_size = 7})},
      {"average", 60,
       quick({.belief = BeliefKind::independent, .epochs = 6, .ledger = LedgerMode::average})},
      {"none", 60,
       quick({.belief = BeliefKind::independent, .epochs = 3, .ledger = LedgerMode::none})},
  };
}

// Independent members report after every batch, joint ones after every epoch.
std::size_t calls_of(const Case& one, const Table& table) {
  Killer counter(never_kill);
  Regressor::fit(table, one.options, counter.callback());
  return counter.calls();
}

TEST(Checkpoint, GoesOnToTheSameBits) {
  constexpr std::size_t stops = test::sanitized ? 2 : 6;
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const Table table = wave_table(one.rows, 0.3, 1);
    const auto expected = Regressor::fit(table, one.options).to_bytes();
    const std::size_t calls = calls_of(one, table);
    for (std::size_t stop = 1; stop <= calls; stop += 1 + calls / stops) {
      const Scratch scratch;
      const Checkpoint checkpoint{scratch.path("c"), 0};
      Killer killer(stop);
      EXPECT_THROW(Regressor::fit(table, one.options, killer.callback(), checkpoint), Killed);
      EXPECT_TRUE(std::filesystem::exists(scratch.path("c")));
      const Regressor resumed = Regressor::fit(table, one.options, {}, checkpoint);
      EXPECT_TRUE(resumed.to_bytes() == expected) << "stopped at " << stop << " of " << calls;
    }
  }
}

// Every run makes only few calls of progress: a fit that started again each time would not end.
TEST(Checkpoint, GoesOnAgainAndAgain) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const Table table = wave_table(one.rows, 0.3, 2);
    const std::size_t calls = calls_of(one, table);
    const Scratch scratch;
    const Checkpoint checkpoint{scratch.path("c"), 0};
    std::optional<Regressor> last;
    std::size_t runs = 0;
    for (; !last && runs < calls; ++runs) {
      Killer killer(calls / 4 + 2);
      try {
        last = Regressor::fit(table, one.options, killer.callback(), checkpoint);
      } catch (const Killed&) {
      }
    }
    ASSERT_TRUE(last.has_value());
    EXPECT_GT(runs, 2U);
    EXPECT_LT(runs, 12U);
    EXPECT_TRUE(last->to_bytes() == Regressor::fit(table, one.options).to_bytes());
    // What is complete is not learnt again.
    Killer counter(never_kill);
    EXPECT_TRUE(Regressor::fit(table, one.options, counter.callback(), checkpoint).to_bytes() ==
                last->to_bytes());
    EXPECT_EQ(counter.calls(), 0U);
  }
}

TEST(Checkpoint, DoesNotDependOnThreads) {
  for (const BeliefKind belief : {BeliefKind::joint, BeliefKind::independent}) {
    RegressorOptions options = quick({.belief = belief, .epochs = 40});
    options.ensemble = 4;
    const Table table = wave_table(60, 0.3, 3);
    const auto expected = Regressor::fit(table, options).to_bytes();
    const Scratch scratch;
    const Checkpoint checkpoint{scratch.path("c"), 0};
    options.threads = 3;
    Killer killer(belief == BeliefKind::joint ? 60 : 1000);
    EXPECT_THROW(Regressor::fit(table, options, killer.callback(), checkpoint), Killed);
    options.threads = 2;
    EXPECT_TRUE(Regressor::fit(table, options, {}, checkpoint).to_bytes() == expected);
  }
}

TEST(Checkpoint, AFitThatWasInterruptedGoesOn) {
  for (const BeliefKind belief : {BeliefKind::joint, BeliefKind::independent}) {
    const RegressorOptions options = quick({.belief = belief, .epochs = 12, .tolerance = 0});
    const Table table = wave_table(60, 0.3, 4);
    const Scratch scratch;
    const Checkpoint checkpoint{scratch.path("c"), 0};
    std::size_t calls = 0;
    const auto interrupt = [&](const FitProgress&) { return ++calls < 200; };
    const Regressor first = Regressor::fit(table, options, interrupt, checkpoint);
    EXPECT_EQ(calls < 200, first.report().stopped != Stopped::interrupted);
    EXPECT_TRUE(Regressor::fit(table, options, {}, checkpoint).to_bytes() ==
                Regressor::fit(table, options).to_bytes());
  }
}

std::string refusal(const Table& table, const RegressorOptions& options,
                    const Checkpoint& checkpoint) {
  try {
    Regressor::fit(table, options, {}, checkpoint);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST(Checkpoint, RefusesWhatIsNotItsOwn) {
  const Scratch scratch;
  const Table table = wave_table(60, 0.3, 5);
  const RegressorOptions options = quick({.epochs = 6});
  const Checkpoint checkpoint{scratch.path("c"), 0};
  const Regressor model = Regressor::fit(table, options, {}, checkpoint);
  RegressorOptions other = options;
  other.seed = 2;
  const std::string before = content(scratch.path("c"));
  EXPECT_NE(refusal(table, other, checkpoint).find("seed 1, now 2"), std::string::npos)
      << refusal(table, other, checkpoint);
  EXPECT_NE(refusal(wave_table(60, 0.3, 6), options, checkpoint).find("other rows"),
            std::string::npos);
  EXPECT_EQ(content(scratch.path("c")), before);

  model.save(scratch.path("model"));
  EXPECT_NE(refusal(table, options, {scratch.path("model")}).find("not a dma checkpoint"),
            std::string::npos);
  scratch.file("table.csv", "a,b,y\n1,2,3\n4,5,6\n7,8,9\n1,2,3\n4,5,6\n7,8,9\n");
  EXPECT_NE(refusal(table, options, {scratch.path("table.csv")}).find("table.csv: is not"),
            std::string::npos);
  EXPECT_NE(refusal(table, options, {scratch.path("no/such/folder")}).find("cannot be created"),
            std::string::npos);
  EXPECT_THROW(Regressor::load(scratch.path("c")), ModelError);
}

TEST(Checkpoint, RefusesADamagedFile) {
  const Scratch scratch;
  const Table table = wave_table(30, 0.3, 7);
  const RegressorOptions options = quick({.epochs = 4});
  const Checkpoint checkpoint{scratch.path("c"), 0};
  Regressor::fit(table, options, {}, checkpoint);
  const std::string whole = content(scratch.path("c"));
  for (std::size_t k = 0; k < whole.size(); k += 1 + whole.size() / 200) {
    std::string changed = whole;
    changed[k] = static_cast<char>(changed[k] ^ 4);
    scratch.file("c", changed);
    EXPECT_NE(refusal(table, options, checkpoint), "") << k;
    scratch.file("c", whole.substr(0, k));
    EXPECT_NE(refusal(table, options, checkpoint), "") << k;
  }
}

// A folder that goes away stands for any disk that can no longer be written.
TEST(Checkpoint, AFailingDiskIsToldOnceOrEndsTheFit) {
  const Table table = wave_table(60, 0.3, 8);
  const RegressorOptions options = quick({.epochs = 12});
  const Scratch scratch;
  const auto folder = std::filesystem::path(scratch.path("folder"));
  const auto lose_folder = [&](const FitProgress&) {
    std::filesystem::remove_all(folder);
    return true;
  };
  std::vector<std::string> said;
  std::filesystem::create_directory(folder);
  const Regressor model =
      Regressor::fit(table, options, lose_folder,
                     {folder / "c", 0, [&](const std::string& line) { said.push_back(line); }});
  EXPECT_TRUE(model.to_bytes() == Regressor::fit(table, options).to_bytes());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("continues without a checkpoint"), std::string::npos) << said[0];
  std::filesystem::create_directory(folder);
  EXPECT_THROW(Regressor::fit(table, options, lose_folder, {folder / "c", 0}), ModelError);
}

TEST(Checkpoint, IsWrittenNoOftenerThanAsked) {
  const Table table = wave_table(60, 0.3, 9);
  const RegressorOptions options = quick({.epochs = 12});
  const Scratch scratch;
  std::string first;
  const auto look = [&](const FitProgress& now) {
    if (now.member == 0 && now.epoch > 1) {
      if (first.empty()) first = content(scratch.path("c"));
      EXPECT_EQ(content(scratch.path("c")), first);
    }
    return true;
  };
  Regressor::fit(table, options, look, {scratch.path("c"), 1e6});
  EXPECT_NE(content(scratch.path("c")), first);  // members that are complete are written
}

}  // namespace
}  // namespace dma
