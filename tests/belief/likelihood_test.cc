// Another likelihood than Gaussian noise, of which beliefs, ledgers and fits know nothing: one class of several, a softmax
// over the outputs.
#include "belief/joint_cavity.h"
#include "belief/joint_network.h"

#include <dma/belief/independent.h>
#include <dma/belief/joint.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "base/require.h"

namespace dma {
namespace {

using detail::Matrix;
using detail::Vector;

Vector softmax(const Vector& f) {
  const Vector e = (f.array() - f.maxCoeff()).exp();
  return e / e.sum();
}

std::size_t class_of(double target) { return static_cast<std::size_t>(target); }

class SoftmaxTerms final : public RowTerms {
 public:
  SoftmaxTerms(std::span<const double> targets, std::size_t classes)
      : targets_(targets), classes_(classes) {}

  std::size_t rows() const override { return targets_.size(); }
  std::size_t outputs() const override { return classes_; }
  double loss(std::span<const double> values) const override {
    double sum = 0;
    for (std::size_t n = 0; n < rows(); ++n) {
      sum -= std::log(probabilities(values, n)[static_cast<Eigen::Index>(targets_[n])]);
    }
    return sum;
  }
  double mean_nll(std::span<const double> values) const override {
    return loss(values) / static_cast<double>(rows());
  }
  // diag(p) - p p' = R R' with R = diag(sqrt p) - p sqrt(p)', and e_y - p = R e_y / sqrt(p_y).
  void expand(std::size_t first, std::span<const double> values, double* root,
              double* slope) const override {
    const auto size = static_cast<Eigen::Index>(classes_);
    for (std::size_t n = 0; n < values.size() / classes_; ++n) {
      const Vector p = probabilities(values, n);
      const Vector s = p.cwiseSqrt();
      Eigen::Map<Matrix> r(root + n * classes_ * classes_, size, size);
      r = -p * s.transpose();
      r.diagonal() += s;
      Eigen::Map<Vector> own(slope + n * classes_, size);
      const auto y = static_cast<Eigen::Index>(targets_[first + n]);
      own.setZero();
      own[y] = 1 / s[y];
    }
  }

 private:
  Vector probabilities(std::span<const double> values, std::size_t n) const {
    return softmax(Eigen::Map<const Vector>(values.data() + n * classes_,
                                            static_cast<Eigen::Index>(classes_)));
  }

  std::span<const double> targets_;
  std::size_t classes_;
};

// The evidence and the predictive are taken at the mean, which is enough here.
class Classes final : public Likelihood {
 public:
  explicit Classes(std::size_t classes) : classes_(classes) {}

  std::unique_ptr<Likelihood> clone() const override { return std::make_unique<Classes>(classes_); }
  std::unique_ptr<Likelihood> for_outputs(std::size_t outputs) const override {
    detail::require(outputs == classes_, "as many outputs as classes");
    return clone();
  }
  std::size_t outputs() const override { return classes_; }
  std::size_t targets() const override { return 1; }
  void validate(std::span<const double> targets) const override {
    for (const double y : targets) {
      detail::require(y >= 0 && y == std::floor(y) && class_of(y) < classes_, "no such class");
    }
  }
  // Linear in f, output by output.
  void message(Rule /*rule*/, std::span<const double> target, const Outputs& outputs,
               std::span<double> mean, std::span<double> variance) const override {
    const Vector p = probabilities(outputs, 0);
    for (std::size_t k = 0; k < classes_; ++k) {
      const double own = p[static_cast<Eigen::Index>(k)];
      variance[k] = 1 / (own * (1 - own));
      mean[k] = outputs.mean[k] + variance[k] * ((class_of(target[0]) == k ? 1 : 0) - own);
    }
  }
  std::unique_ptr<RowTerms> terms(const Targets& targets,
                                  std::span<const double> /*scales*/) override {
    return std::make_unique<SoftmaxTerms>(targets.values, classes_);
  }
  double mean_nll(const Targets& targets, const Outputs& outputs) const override {
    return SoftmaxTerms(targets.values, classes_).mean_nll(outputs.mean);
  }
  Prediction predictive(const Outputs& outputs, const LogScale& /*scale*/) const override {
    Prediction prediction;
    for (std::size_t n = 0; n < outputs.mean.size() / classes_; ++n) {
      for (const double p : probabilities(outputs, n)) {
        prediction.mean.push_back(p);
        prediction.epistemic_variance.push_back(0);
        prediction.noise_variance.push_back(p * (1 - p));
      }
    }
    return prediction;
  }
  Metrics score(const Targets& targets, const Prediction& predicted) const override {
    Metrics metrics;
    for (std::size_t n = 0; n < targets.rows(); ++n) {
      metrics.nll -=
          std::log(predicted.mean[n * classes_ + class_of(targets.values[n])]) / targets.weight();
      ++metrics.values;
    }
    return metrics;
  }

 private:
  Vector probabilities(const Outputs& outputs, std::size_t n) const {
    return softmax(Eigen::Map<const Vector>(outputs.mean.data() + n * classes_,
                                            static_cast<Eigen::Index>(classes_)));
  }

  std::size_t classes_;
};

// Three classes around three points of the plane, which overlap.
Rows three_classes(std::size_t count, std::uint64_t seed) {
  special::Random random(seed);
  Rows rows;
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t y = n % 3;
    rows.inputs.push_back((y == 0 ? -1 : y == 1 ? 1 : 0) + 0.6 * random.normal());
    rows.inputs.push_back((y == 2 ? 1.5 : 0) + 0.6 * random.normal());
    rows.targets.push_back(static_cast<double>(y));
  }
  rows.rows = count;
  return rows;
}

const Architecture linear{.widths = {2, 3}, .bias = {true}};
const Architecture deep{.widths = {2, 6, 3}, .slopes = {0.1}, .bias = {true}};

// Row k of a linear network's J: the inputs and 1, where the weights of output k stand.
Matrix gradients_at(const Rows& rows, std::size_t n) {
  const Vector x{{rows.inputs[2 * n], rows.inputs[2 * n + 1], 1.0}};
  Matrix j = Matrix::Zero(3, 9);
  for (Eigen::Index k = 0; k < 3; ++k) j.row(k).segment(3 * k, 3) = x;
  return j;
}

struct Maximum {
  Vector weights;
  Matrix precision;
};

// Newton's steps on the posterior density itself.
Maximum find_maximum(const Rows& rows, const Vector& prior) {
  Maximum found{Vector::Zero(9), {}};
  for (int step = 0; step < 50; ++step) {
    Vector gradient = -prior.cwiseProduct(found.weights);
    found.precision = prior.asDiagonal();
    for (std::size_t n = 0; n < rows.rows; ++n) {
      const Matrix j = gradients_at(rows, n);
      const Vector p = softmax(j * found.weights);
      Vector miss = -p;
      miss[static_cast<Eigen::Index>(rows.targets[n])] += 1;
      gradient += j.transpose() * miss;
      found.precision += j.transpose() * (Matrix(p.asDiagonal()) - p * p.transpose()) * j;
    }
    found.weights += found.precision.ldlt().solve(gradient);
  }
  return found;
}

detail::JointSettings without_evidence() {
  detail::JointSettings settings;
  settings.evidence_from = 1000;
  settings.epochs = 60;
  settings.tolerance = 0;
  return settings;
}

Matrix precision_of(const JointPosterior& posterior) {
  const Matrix lower = detail::factor_of(posterior).triangularView<Eigen::Lower>();
  return lower * lower.transpose();
}

struct Fitted {
  explicit Fitted(const Rows& rows)
      : terms(rows.targets, 3), network(linear, JointUnit::leaky_relu, 1, true) {
    network.fit(rows.inputs, terms, without_evidence());
    posterior = network.posterior(rows.inputs, terms, true);
  }

  SoftmaxTerms terms;
  detail::JointNetwork network;
  JointPosterior posterior;
};

TEST(JointClasses, EndAtTheMaximumWithItsCurvature) {
  const Rows rows = three_classes(90, 1);
  const Fitted fitted(rows);
  const Maximum maximum =
      find_maximum(rows, Eigen::Map<const Vector>(fitted.posterior.prior_precision.data(), 9));
  EXPECT_LT((detail::mean_of(fitted.posterior) - maximum.weights).norm(), 1e-6);
  const Matrix precision = precision_of(fitted.posterior);
  EXPECT_LT((precision - maximum.precision).norm(), 1e-6 * precision.norm());
  const Matrix covariance = precision.inverse();
  const OutputMoments moments = outputs_of(fitted.posterior, rows.inputs, rows.rows);
  for (std::size_t n = 0; n < rows.rows; ++n) {
    const Matrix j = gradients_at(rows, n);
    const Matrix expected = j * covariance * j.transpose();
    const Eigen::Map<const Matrix> own(moments.covariance.data() + 9 * n, 3, 3);
    EXPECT_LT((own - expected).norm(), 1e-10 * expected.norm());
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(moments.variance[3 * n + k], moments.covariance[9 * n + 4 * k]);
    }
  }
}

// The closed form of the cavity is the belief without the row's messages, also where the mean is not where the messages
// were linearised.
TEST(JointClasses, TheCavityIsTheBeliefWithoutTheRow) {
  const Rows rows = three_classes(30, 2);
  Fitted fitted(rows);
  EXPECT_EQ(fitted.posterior.ledger.shifts.size(), 90U);
  JointPosterior moved = fitted.posterior;
  moved.centre = moved.mean;
  // Not all outputs by as much: a softmax does not see that.
  for (std::size_t k = 0; k < moved.mean.size(); ++k)
    moved.mean[k] += 0.05 * static_cast<double>(k);
  JointPosterior in_messages = moved;
  in_messages.factor.clear();
  for (const JointPosterior& posterior : {fitted.posterior, moved, in_messages}) {
    OutputMoments cavity = outputs_of(posterior, rows.inputs, rows.rows);
    JointCertificate certificate;
    detail::take_out_own_messages(fitted.terms, fitted.network.values(rows.inputs, rows.rows),
                                  cavity, certificate);
    EXPECT_EQ(certificate.rows_alone, 0U);
    EXPECT_GT(certificate.largest_leverage, 0.1);
    EXPECT_LT(certificate.largest_leverage, 1);
    for (std::size_t n = 0; n < rows.rows; n += 7) {
      JointPosterior without = posterior;
      forget(without, std::vector<std::size_t>{n});
      const OutputMoments expected =
          outputs_of(without, std::span(rows.inputs).subspan(2 * n, 2), 1);
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(cavity.mean[3 * n + k], expected.mean[k], 1e-8);
        EXPECT_NEAR(cavity.variance[3 * n + k], expected.variance[k], 1e-9);
      }
      for (std::size_t k = 0; k < 9; ++k) {
        EXPECT_NEAR(cavity.covariance[9 * n + k], expected.covariance[k], 1e-9);
      }
    }
  }
}

TEST(JointClasses, SampledFunctionsHaveTheMomentsOfTheOutputs) {
  const Rows rows = three_classes(30, 3);
  const Fitted fitted(rows);
  constexpr std::size_t count = 20'000;
  const auto drawn = sample_functions(fitted.posterior, rows.inputs, 2, count, 1);
  const OutputMoments moments = outputs_of(fitted.posterior, rows.inputs, 2);
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t k = 0; k < 3; ++k) {
      double mean = 0;
      double with_first = 0;
      for (std::size_t s = 0; s < count; ++s) {
        const double* own = drawn.data() + (2 * s + n) * 3;
        mean += own[k] / count;
        with_first += (own[k] - moments.mean[3 * n + k]) * (own[0] - moments.mean[3 * n]) / count;
      }
      const double deviation = std::sqrt(moments.variance[3 * n + k]);
      EXPECT_NEAR(mean, moments.mean[3 * n + k], 5 * deviation / std::sqrt(count));
      EXPECT_NEAR(with_first, moments.covariance[9 * n + k],
                  8 * deviation * std::sqrt(moments.variance[3 * n]) / std::sqrt(count));
    }
  }
}

// ------------------------------------------------------------------------------------------- whole beliefs

TrainingOptions options_for(std::size_t epochs) {
  return {.batch_size = 5,
          .max_epochs = epochs,
          .tolerance = 0,
          .likelihood = std::make_shared<Classes>(3)};
}

using Make = std::unique_ptr<Belief> (*)(TrainingOptions);
using Restore = std::unique_ptr<Belief> (*)(TrainingOptions, Arrays, const Heard&);
struct Kind {
  const char* name;
  Make make;
  Restore restore;
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

template <class T>
Kind independent(const char* name) {
  return {
      name,
      [](TrainingOptions options) -> std::unique_ptr<Belief> {
        return std::make_unique<IndependentBelief<T>>(deep, draw_prior(deep, 1, 4), options);
      },
      [](TrainingOptions options, Arrays stored, const Heard& heard) -> std::unique_ptr<Belief> {
        return std::make_unique<IndependentBelief<T>>(deep, std::move(stored), heard, options);
      }};
}

const Kind joint{
    "joint",
    [](TrainingOptions options) -> std::unique_ptr<Belief> {
      return std::make_unique<JointBelief>(deep, options);
    },
    [](TrainingOptions options, Arrays stored, const Heard& heard) -> std::unique_ptr<Belief> {
      return std::make_unique<JointBelief>(deep, std::move(stored), heard, options);
    }};

class ClassesInEachBelief : public testing::TestWithParam<Kind> {};

double share_right(const Prediction& predicted, const Rows& rows) {
  std::size_t right = 0;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    const auto begin = predicted.mean.begin() + static_cast<std::ptrdiff_t>(3 * n);
    const auto best = std::max_element(begin, begin + 3) - begin;
    right += static_cast<std::size_t>(best) == class_of(rows.targets[n]) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(rows.rows);
}

TEST_P(ClassesInEachBelief, AreLearntPredictedScoredAndForgotten) {
  const Rows rows = three_classes(150, 4);
  const Rows others = three_classes(600, 5);
  const auto belief = GetParam().make(options_for(20));
  belief->append(rows.data());
  const FitResult result = belief->fit();
  EXPECT_EQ(result.cavity_predictions.mean.size(), 450U);
  EXPECT_EQ(result.cavity.values, 150U);
  const auto predicted = belief->predictor()->predict(others.inputs, others.rows);
  EXPECT_GT(share_right(predicted, others), 0.85);
  // What the cavity says of rows that were learnt is what others turn out to be.
  const Metrics held_out = belief->likelihood().score(others.targets, predicted);
  EXPECT_NEAR(result.cavity.nll, held_out.nll, 0.15);
  EXPECT_LT(result.train_nll.back(), 0.5);
  const auto variance = belief->weights().variance;
  belief->forget(std::vector<std::size_t>{0, 7});
  EXPECT_EQ(belief->batches(), 28U);
  const auto after = belief->weights().variance;
  double wider = 0;
  for (std::size_t k = 0; k < after.size(); ++k) wider += after[k] / variance[k] - 1;
  EXPECT_GT(wider, 0);
}

TEST_P(ClassesInEachBelief, AreStoredAndRestored) {
  const Rows rows = three_classes(60, 6);
  const auto belief = GetParam().make(options_for(8));
  belief->append(rows.data());
  belief->fit();
  const std::vector<std::size_t> batches(12, 5);
  const auto again = GetParam().restore(options_for(8), belief->store(), {batches, true});
  for (const Belief* one : {belief.get(), again.get()}) {
    EXPECT_EQ(one->predictor()->predict(rows.inputs, rows.rows).mean,
              belief->predictor()->predict(rows.inputs, rows.rows).mean);
  }
  belief->forget(3);
  again->forget(3);
  EXPECT_EQ(again->weights().mean, belief->weights().mean);
}

TEST_P(ClassesInEachBelief, GoOnFromWhereAFitWasStopped) {
  const Rows rows = three_classes(60, 7);
  const auto whole = GetParam().make(options_for(12));
  whole->append(rows.data());
  Arrays state;
  std::size_t epochs = 0;
  whole->fit([&](bool) {
    if (++epochs == 5) state = whole->fit_state();
  });
  const auto second = GetParam().make(options_for(12));
  second->append(rows.data());
  second->resume(state);
  second->fit();
  EXPECT_EQ(second->weights().mean, whole->weights().mean);
  EXPECT_EQ(second->weights().variance, whole->weights().variance);
}

TEST_P(ClassesInEachBelief, TakeRowsOnTopOfOthers) {
  const Rows rows = three_classes(60, 8);
  const Rows more = three_classes(90, 9);
  const auto belief = GetParam().make(options_for(15));
  belief->append(rows.data());
  belief->fit();
  const auto grown = belief->copy(options_for(15));
  grown->append(more.data());
  const FitResult result = grown->fit();
  EXPECT_EQ(result.cavity.values, 90U);
  const Rows others = three_classes(600, 10);
  const auto nll = [&](const Belief& one) {
    return one.likelihood()
        .score(others.targets, one.predictor()->predict(others.inputs, others.rows))
        .nll;
  };
  EXPECT_LT(nll(*grown), nll(*belief) + 0.02);
}

TEST_P(ClassesInEachBelief, ThatThereAreNotAreRefused) {
  Rows rows = three_classes(6, 11);
  rows.targets[4] = 3;
  const auto belief = GetParam().make(options_for(2));
  EXPECT_THROW(belief->append(rows.data()), NetworkError);
  EXPECT_EQ(belief->batches(), 0U);
  TrainingOptions two = options_for(2);
  two.likelihood = std::make_shared<Classes>(2);
  EXPECT_THROW(GetParam().make(two), NetworkError);
}

INSTANTIATE_TEST_SUITE_P(All, ClassesInEachBelief,
                         testing::Values(joint, independent<double>("independent"),
                                         independent<float>("independent_float")),
                         testing::PrintToStringParamName());

TEST(IndependentClasses, AreLearntInOnePass) {
  TrainingOptions options = options_for(1);
  options.ledger = LedgerMode::none;
  IndependentBelief<double> belief(deep, draw_prior(deep, 1, 4), options);
  const Rows rows = three_classes(3000, 12);
  const Prediction before = belief.learn(rows.data());
  EXPECT_EQ(before.mean.size(), 9000U);
  belief.stop_learning();
  EXPECT_GT(share_right(before, rows), 0.8);
  const Rows others = three_classes(600, 13);
  EXPECT_GT(share_right(belief.predictor()->predict(others.inputs, 600), others), 0.85);
}

}  // namespace
}  // namespace dma
