// What holds of every belief, whatever it is made of: independent weights in double and single precision, joint ones.
#include <dma/belief/independent.h>
#include <dma/belief/joint.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>

namespace dma {
namespace {

Rows wave(std::size_t count, std::uint64_t seed) {
  special::Random random(seed);
  Rows rows;
  for (std::size_t n = 0; n < count; ++n) {
    const double x = random.uniform(-2, 2);
    const double z = random.normal();
    rows.append({std::vector<double>{x, z},
                 std::vector<double>{std::sin(2 * x) + 0.3 * z + 0.1 * random.normal()}, 1});
  }
  return rows;
}

const Architecture network{.widths = {2, 6, 1}, .slopes = {0.1}, .bias = {true}};

// A kind of belief: how it is made, and how it is made again from what was stored.
struct Kind {
  std::string name;
  std::function<std::unique_ptr<Belief>(TrainingOptions)> make;
  std::function<std::unique_ptr<Belief>(Arrays, Heard, TrainingOptions)> restore;
};

template <class T>
Kind independent(std::string name) {
  const IndependentOptions own{.belief_from_epoch = 1};
  return {std::move(name),
          [own](TrainingOptions options) {
            return std::make_unique<IndependentBelief<T>>(network, draw_prior(network, 1), options,
                                                          own);
          },
          [own](Arrays stored, const Heard& heard, TrainingOptions options) {
            return std::make_unique<IndependentBelief<T>>(network, std::move(stored), heard,
                                                          options, own);
          }};
}

Kind joint(std::string name, const JointOptions& own) {
  return {std::move(name),
          [own](TrainingOptions options) {
            return std::make_unique<JointBelief>(network, options, own);
          },
          [own](Arrays stored, const Heard& heard, TrainingOptions options) {
            return std::make_unique<JointBelief>(network, std::move(stored), heard, options, own);
          }};
}

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

TrainingOptions few_epochs(std::size_t batch_size = 5) {
  return {.batch_size = batch_size,
          .max_epochs = 6,
          .tolerance = 0,
          .likelihood = gaussian({.variance = {0.1}, .learn = true})};
}

class EachBelief : public testing::TestWithParam<Kind> {
 public:
  std::unique_ptr<Belief> fitted(const Rows& rows, TrainingOptions options = few_epochs()) const {
    auto belief = GetParam().make(std::move(options));
    belief->append(rows.data());
    belief->fit();
    return belief;
  }
};

void expect_same(const Arrays& a, const Arrays& b) {
  ASSERT_EQ(std::distance(a.begin(), a.end()), std::distance(b.begin(), b.end()));
  for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right) {
    EXPECT_EQ(left->first, right->first);
    EXPECT_EQ(left->second.shape, right->second.shape);
    EXPECT_EQ(left->second.numbers, right->second.numbers) << left->first;
  }
}

void expect_same(const Prediction& a, const Prediction& b) {
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.epistemic_variance, b.epistemic_variance);
  EXPECT_EQ(a.noise_variance, b.noise_variance);
  EXPECT_EQ(a.noise_spread, b.noise_spread);
}

// No message takes information away: without one no weight is better known, and some are less.
void expect_wider(const std::vector<double>& without, const std::vector<double>& with) {
  double wider = 0;
  for (std::size_t k = 0; k < with.size(); ++k) {
    EXPECT_GE(without[k], with[k] * (1 - 1e-5)) << k;
    wider = std::max(wider, without[k] / with[k]);
  }
  EXPECT_GT(wider, 1.001);
}

Prediction predict(const Belief& belief, const Rows& rows) {
  return belief.predictor()->predict(rows.inputs, rows.rows);
}

// Whatever is learnt in them.
TEST_P(EachBelief, TakesNoMoreEpochsThanItMay) {
  const Rows rows = wave(40, 1);
  for (const std::size_t most : {1U, 2U, 7U, 25U, 130U}) {
    TrainingOptions options = few_epochs();
    options.max_epochs = most;
    std::size_t furthest = 0;
    options.progress = [&](const Progress& now) {
      EXPECT_EQ(now.epochs, most);
      furthest = std::max(furthest, now.epoch);
      return true;
    };
    auto belief = GetParam().make(options);
    belief->append(rows.data());
    const FitResult result = belief->fit();
    EXPECT_EQ(result.epochs, most);
    EXPECT_EQ(furthest, most);
    EXPECT_EQ(result.stopped, Stopped::max_epochs);
    EXPECT_LE(result.train_nll.size(), most);
  }
}

TEST_P(EachBelief, StopsAfterAsManySettledEpochsAsAskedFor) {
  const Rows rows = wave(40, 1);
  const auto epochs = [&](double tolerance, std::size_t patience) {
    TrainingOptions options = few_epochs();
    options.max_epochs = 130;
    options.tolerance = tolerance;
    options.patience = patience;
    auto belief = GetParam().make(options);
    belief->append(rows.data());
    const FitResult result = belief->fit();
    EXPECT_EQ(result.stopped, result.epochs < 130 ? Stopped::tolerance : Stopped::max_epochs)
        << tolerance << ", " << patience;
    return result.epochs;
  };
  constexpr double any = 1e9;  // every epoch settles
  EXPECT_LT(epochs(any, 1), epochs(any, 2));
  EXPECT_LT(epochs(any, 2), epochs(any, 4));
  EXPECT_LT(epochs(any, 4), 130U);
  EXPECT_EQ(epochs(any, 0), 130U);
  EXPECT_EQ(epochs(0, 1), 130U);
}

TEST_P(EachBelief, IsFittedPredictsAndForgets) {
  const Rows rows = wave(40, 1);
  auto belief = GetParam().make(few_epochs());
  EXPECT_EQ(belief->append(rows.data()), 0U);
  EXPECT_EQ(belief->batches(), 8U);
  const FitResult result = belief->fit();
  EXPECT_EQ(result.cavity_predictions.mean.size(), 40U);
  EXPECT_EQ(result.cavity.values, 40U);
  EXPECT_EQ(result.ledger_bytes, belief->ledger_bytes());
  EXPECT_GT(result.ledger_bytes, 0U);
  EXPECT_FALSE(result.train_nll.empty());
  EXPECT_EQ(noise_variance(belief->likelihood()).size(), 1U);
  const auto before = belief->weights().variance;
  belief->forget(2);
  EXPECT_EQ(belief->batches(), 7U);
  EXPECT_LT(belief->ledger_bytes(), result.ledger_bytes);
  expect_wider(belief->weights().variance, before);
}

TEST_P(EachBelief, IsTheSameOnceItWasStored) {
  const Rows rows = wave(30, 2);
  const auto belief = fitted(rows);
  const Heard heard{std::vector<std::size_t>(6, 5)};
  auto again = GetParam().restore(belief->store(), heard, few_epochs());
  expect_same(again->store(), belief->store());
  expect_same(predict(*again, rows), predict(*belief, rows));
  EXPECT_EQ(again->sample_functions(rows.inputs, 30, 3, 7),
            belief->sample_functions(rows.inputs, 30, 3, 7));
  EXPECT_EQ(again->weights().variance, belief->weights().variance);
  again->forget(1);
  auto copy = belief->copy(few_epochs());
  copy->forget(1);
  expect_same(again->store(), copy->store());
  // The mean has moved away from where the messages were linearised.
  const Heard fewer{std::vector<std::size_t>(5, 5)};
  const auto moved = GetParam().restore(copy->store(), fewer, few_epochs());
  expect_same(moved->store(), copy->store());
  expect_same(predict(*moved, rows), predict(*copy, rows));
}

TEST_P(EachBelief, ACopyGoesItsOwnWay) {
  const auto belief = fitted(wave(30, 3));
  const Arrays before = belief->store();
  auto copy = belief->copy(few_epochs());
  expect_same(copy->store(), before);
  copy->append(wave(5, 4).data());
  copy->fit();
  copy->forget(0);
  EXPECT_EQ(copy->batches(), 6U);
  expect_same(belief->store(), before);
}

// New rows are learnt while the others are not here: what these said stands, and so does the noise.
TEST_P(EachBelief, NewRowsComeOnTop) {
  const Rows rows = wave(30, 5);
  const Rows more = wave(10, 6);
  const auto belief = fitted(rows);
  auto grown = belief->copy(few_epochs());
  EXPECT_EQ(grown->append(more.data()), 6U);
  const FitResult result = grown->fit();
  EXPECT_EQ(result.cavity.values, 10U);
  expect_wider(belief->weights().variance, grown->weights().variance);
  const auto before = predict(*belief, more);
  const auto after = predict(*grown, more);
  EXPECT_EQ(after.noise_variance.size(), 10U);
  double nearer = 0;
  for (std::size_t n = 0; n < 10; ++n) {
    nearer +=
        std::abs(before.mean[n] - more.targets[n]) - std::abs(after.mean[n] - more.targets[n]);
  }
  EXPECT_GT(nearer, 0);
  EXPECT_THROW(belief->copy(few_epochs())->fit(), NetworkError);  // no row is here
}

// A fit that is stopped after any epoch and taken up elsewhere ends with the same bits.
TEST_P(EachBelief, AFitCanBeTakenUpElsewhere) {
  const Rows rows = wave(30, 7);
  std::vector<Arrays> states;
  auto belief = GetParam().make(few_epochs());
  belief->append(rows.data());
  std::size_t lasts = 0;
  const FitResult whole = belief->fit([&](bool last) {
    states.push_back(belief->fit_state());
    lasts += last ? 1 : 0;
  });
  EXPECT_EQ(lasts, 1U);
  ASSERT_GE(states.size(), 6U);
  for (std::size_t k = 0; k < states.size(); k += 2) {
    auto other = GetParam().make(few_epochs());
    other->append(rows.data());
    other->resume(states[k]);
    const FitResult result = other->fit();
    expect_same(other->store(), belief->store());
    expect_same(result.cavity_predictions, whole.cavity_predictions);
    EXPECT_EQ(result.train_nll, whole.train_nll);
  }
}

TEST_P(EachBelief, RefusesAStateThatIsNotItsOwn) {
  const Rows rows = wave(30, 8);
  auto belief = GetParam().make(few_epochs());
  belief->append(rows.data());
  Arrays state;
  belief->fit([&](bool) { state = belief->fit_state(); });
  auto other = GetParam().make(few_epochs());
  other->append(wave(20, 8).data());
  EXPECT_THROW(other->resume(state), NetworkError);
  EXPECT_THROW(other->resume({}), NetworkError);
  EXPECT_THROW((void)belief->fit_state(), NetworkError);
  EXPECT_THROW(GetParam().restore({}, {}, few_epochs()), NetworkError);
}

TEST_P(EachBelief, WithoutALedgerNothingCanBeForgotten) {
  const Rows rows = wave(30, 9);
  const auto belief = fitted(rows);
  auto slim = belief->copy(few_epochs());
  slim->drop_ledger();
  EXPECT_EQ(slim->batches(), 0U);
  EXPECT_EQ(slim->ledger_bytes(), 0U);
  const auto before = predict(*belief, rows);
  const auto after = predict(*slim, rows);
  EXPECT_EQ(after.mean, before.mean);
  EXPECT_EQ(after.epistemic_variance, before.epistemic_variance);
  EXPECT_THROW(slim->forget(0), NetworkError);
  slim->append(wave(5, 10).data());
  slim->fit();
  EXPECT_EQ(slim->batches(), 1U);
}

TEST_P(EachBelief, StopsWhenAsked) {
  std::size_t calls = 0;
  TrainingOptions options = few_epochs();
  options.progress = [&](const Progress&) { return ++calls < 3; };
  auto belief = GetParam().make(options);
  belief->append(wave(30, 11).data());
  EXPECT_EQ(belief->fit().stopped, Stopped::interrupted);
  EXPECT_EQ(calls, 3U);
}

TEST_P(EachBelief, NamesWhatItCannotUse) {
  auto belief = GetParam().make(few_epochs());
  EXPECT_THROW(belief->fit(), NetworkError);
  EXPECT_THROW(belief->forget(0), NetworkError);
  EXPECT_THROW(belief->append({{}, {}, 0}), NetworkError);
  EXPECT_THROW(GetParam().make({.batch_size = 0}), NetworkError);
  EXPECT_THROW(GetParam().make({.likelihood = nullptr}), NetworkError);
  EXPECT_THROW(GetParam().make({.tolerance = -1}), NetworkError);
  EXPECT_THROW(GetParam().make({.likelihood = gaussian({.variance = {0}})}), NetworkError);
}

INSTANTIATE_TEST_SUITE_P(All, EachBelief,
                         testing::Values(independent<double>("independent"),
                                         independent<float>("independent_float"),
                                         joint("joint", {}),
                                         joint("joint_of_all_columns", {.by_column = false})),
                         [](const auto& info) { return info.param.name; });

// What a row's cavity says is what a belief says that has forgotten the row: in closed form, and by division.
TEST(JointCavity, IsThePredictionOfABeliefThatHasForgottenTheRow) {
  const Rows rows = wave(25, 12);
  JointBelief belief(network, few_epochs(1));
  belief.append(rows.data());
  const FitResult result = belief.fit();
  for (std::size_t n = 0; n < rows.rows; n += 4) {
    auto without = belief.copy(few_epochs(1));
    without->forget(n);
    const auto inputs = std::span(rows.inputs).subspan(2 * n, 2);
    const auto own = without->predictor()->predict(inputs, 1);
    const double deviation = std::sqrt(own.epistemic_variance[0]);
    EXPECT_NEAR(result.cavity_predictions.mean[n], own.mean[0], 1e-6 * deviation);
    EXPECT_NEAR(std::sqrt(result.cavity_predictions.epistemic_variance[n]), deviation,
                1e-6 * deviation);
  }
}

// A network without hidden units is linear in its weights, and its first full step is its last.
TEST(JointCertificate, OfALinearNetworkIsClean) {
  const Rows rows = wave(60, 13);
  const Architecture linear{.widths = {2, 1}, .slopes = {0.1}, .bias = {true}};
  TrainingOptions options = few_epochs(1);
  options.max_epochs = 40;
  options.likelihood = gaussian({.variance = {0.1}});
  JointBelief belief(linear, options);
  belief.append(rows.data());
  const auto joint = belief.fit().certificate.joint;
  ASSERT_TRUE(joint);
  EXPECT_LT(joint->linearisation_error, 1e-10);
  EXPECT_LT(joint->step_left, 1e-4);
  EXPECT_LE(joint->damping, 0.01);               // where steps begin again once none gains anything
  EXPECT_GT(joint->largest_leverage, 3.0 / 60);  // the mean is weights over rows
  EXPECT_LT(joint->largest_leverage, 0.3);
  EXPECT_EQ(joint->rows_alone, 0U);
}

TEST(JointCertificate, TellsAFitThatWasStopped) {
  const Rows rows = wave(60, 14);
  const auto certificate = [&](std::size_t calls) {
    TrainingOptions options = few_epochs(1);
    options.max_epochs = 200;
    options.likelihood = gaussian({.variance = {0.1}});
    options.progress = [&calls](const Progress&) { return calls-- > 0; };
    JointBelief belief(network, options);
    belief.append(rows.data());
    return *belief.fit().certificate.joint;
  };
  const JointCertificate early = certificate(1);
  const JointCertificate late = certificate(200);
  EXPECT_GT(early.damping, 0.01);
  EXPECT_GT(early.step_left, 100 * late.step_left);
  EXPECT_GT(late.linearisation_error, 0.001);
}

// A row that outweighs the others has all but its whole prediction to itself.
TEST(JointCertificate, NamesTheRowThatStandsAlone) {
  Rows rows = wave(60, 15);
  const Architecture linear{.widths = {2, 1}, .slopes = {0.1}, .bias = {true}};
  TrainingOptions options = few_epochs(1);
  options.likelihood = gaussian({.variance = {0.1}});
  const auto leverage = [&] {
    JointBelief belief(linear, options);
    belief.append(rows.data());
    return belief.fit().certificate.joint->largest_leverage;
  };
  EXPECT_LT(leverage(), 0.3);
  rows.inputs[0] = 1e4;
  EXPECT_GT(leverage(), 0.99);
}

TEST(JointBelief, RefusesALedgerThatAverages) {
  EXPECT_THROW(JointBelief(network, {.ledger = LedgerMode::average}), NetworkError);
}

}  // namespace
}  // namespace dma
