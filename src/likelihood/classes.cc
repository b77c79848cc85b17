#include <dma/likelihood/classes.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include <dma/factors/tilted.h>
#include <dma/metrics/predicted.h>
#include <dma/special/logistic.h>
#include <dma/special/normal.h>

#include "base/require.h"

namespace dma {
namespace {

using detail::require;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

std::size_t class_of(double target) { return static_cast<std::size_t>(target); }

// log(1 + exp(x))
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double logistic(double x) {
  const double e = std::exp(-std::abs(x));
  return (x > 0 ? 1 : e) / (1 + e);
}

// Becomes the probabilities of these outputs; returns the log of the sum of their exponentials.
double to_probabilities(std::span<double> outputs) {
  const double largest = *std::max_element(outputs.begin(), outputs.end());
  double sum = 0;
  for (double& one : outputs) sum += one = std::exp(one - largest);
  for (double& one : outputs) one /= sum;
  return largest + std::log(sum);
}

// ---------------------------------------------------------------------------------------------------- terms

// One output. Curvature p (1 - p), gradient y - p.
class TwoClassTerms final : public RowTerms {
 public:
  explicit TwoClassTerms(const Targets& targets) : targets_(targets) {}

  std::size_t rows() const override { return targets_.rows(); }
  double weight() const override { return targets_.weight(); }
  double loss(std::span<const double> values) const override {
    double sum = 0;
    for (std::size_t n = 0; n < rows(); ++n) {
      sum += targets_.weight(n) * softplus(targets_.values[n] > 0 ? -values[n] : values[n]);
    }
    return sum;
  }
  double mean_nll(std::span<const double> values) const override { return loss(values) / weight(); }
  // With the sign of y, s = q / sqrt(p q) = sqrt(q / p) = exp(-+f / 2).
  void expand(std::size_t first, std::span<const double> values, double* root,
              double* slope) const override {
    for (std::size_t n = 0; n < values.size(); ++n) {
      const double sign = targets_.values[first + n] > 0 ? 1 : -1;
      const double share = std::sqrt(targets_.weight(first + n));
      root[n] = share * std::sqrt(logistic(values[n]) * logistic(-values[n]));
      slope[n] = root[n] > 0 ? share * sign * std::exp(-sign * values[n] / 2) : 0;
    }
  }

 private:
  Targets targets_;
};

// One output per class. Curvature diag(p) - p p' = R R' with the columns R_c = sqrt(p_c) (e_c - p), gradient e_y - p = R s
// with s_c = (1[c = y] - p_c) / sqrt(p_c).
class ManyClassTerms final : public RowTerms {
 public:
  ManyClassTerms(const Targets& targets, std::size_t classes)
      : targets_(targets), classes_(classes) {}

  std::size_t rows() const override { return targets_.rows(); }
  double weight() const override { return targets_.weight(); }
  std::size_t outputs() const override { return classes_; }
  double loss(std::span<const double> values) const override {
    std::vector<double> row(classes_);
    double sum = 0;
    for (std::size_t n = 0; n < rows(); ++n) {
      const auto own = values.subspan(n * classes_, classes_);
      row.assign(own.begin(), own.end());
      sum += targets_.weight(n) * (to_probabilities(row) - own[class_of(targets_.values[n])]);
    }
    return sum;
  }
  double mean_nll(std::span<const double> values) const override { return loss(values) / weight(); }
  void expand(std::size_t first, std::span<const double> values, double* root,
              double* slope) const override {
    std::vector<double> p(classes_);
    for (std::size_t n = 0; n < values.size() / classes_; ++n) {
      const auto own = values.subspan(n * classes_, classes_);
      p.assign(own.begin(), own.end());
      to_probabilities(p);
      const std::size_t y = class_of(targets_.values[first + n]);
      const double weight = targets_.weight(first + n);
      for (std::size_t c = 0; c < classes_; ++c) {
        const double share = std::sqrt(weight * p[c]);
        double* column = root + (n * classes_ + c) * classes_;
        for (std::size_t k = 0; k < classes_; ++k) column[k] = share * ((k == c ? 1 : 0) - p[k]);
        slope[n * classes_ + c] = share > 0 ? weight * ((c == y ? 1 : 0) - p[c]) / share : 0;
      }
    }
  }

 private:
  Targets targets_;
  std::size_t classes_;
};

// ------------------------------------------------------------------------------------------------- averages

// Of the probabilities of a row, under what is believed of its outputs.
struct Averages {
  std::vector<double> mean, mean_square;  // by class
  double entropy = 0;
};

// E[p^2] and E[H(p)] where there is one output: both change with x only where the logistic function does.
Averages average_of_two(double mean, double variance) {
  const double deviation = std::sqrt(variance);
  const double p = std::exp(special::expected_logistic(mean, variance).log);
  const double q = std::exp(special::expected_logistic(-mean, variance).log);
  Averages result{{q, p}, {}, 0};
  constexpr double reach = 9, bend = 40, finest = 0.4;
  double both = 0;  // E[p q]
  const double step = std::min(finest, finest * deviation);
  const double begin = std::max(-bend, mean - reach * deviation);
  const double end = std::min(bend, mean + reach * deviation);
  if (!(step > 0)) {
    both = logistic(mean) * logistic(-mean);
    result.entropy = entropy_term(logistic(mean)) + entropy_term(logistic(-mean));
  }
  for (double x = begin; step > 0 && x <= end; x += step) {
    const double t = (x - mean) / deviation;
    const double weight = step / deviation * std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
    both += weight * logistic(x) * logistic(-x);
    result.entropy += weight * (entropy_term(logistic(x)) + entropy_term(logistic(-x)));
  }
  result.mean_square = {q - both, p - both};  // p^2 = p - p q
  return result;
}

// Points of a standard Gaussian in so many dimensions, each of which stands for its opposite too: an additive recurrence
// by powers of the root of x^(d + 1) = x + 1 (Roberts 2018), even in the first dimensions above all.
MatrixXd even_points(Index dimensions, Index count) {
  double root = 2;
  for (int i = 0; i < 60; ++i) root = std::pow(1 + root, 1.0 / static_cast<double>(dimensions + 1));
  MatrixXd points(count, dimensions);
  for (Index j = 0; j < dimensions; ++j) {
    const double step = std::pow(root, -static_cast<double>(j + 1));
    for (Index i = 0; i < count; ++i) {
      const double place = 0.5 + static_cast<double>(i + 1) * step;
      points(i, j) = special::normal_quantile(place - std::floor(place));
    }
  }
  return points;
}

// What means and deviations of outputs are multiplied by.
struct Scales {
  double mean = 1, deviation = 1;
};

// Averages over even points. Only differences of outputs count, so that what all share is left out.
class ManyClassAverages {
 public:
  explicit ManyClassAverages(std::size_t classes, Index count = 256)
      : classes_(static_cast<Index>(classes)), points_(even_points(classes_ - 1, count)) {}

  // Of the row that the next calls are about.
  void set(const Outputs& row) {
    mean_ = row.mean;
    spread_ = (points_ * root_of(row.variance, row.covariance).transpose()).array();
  }
  Averages averages() {
    place({});
    const VectorXd sum = probabilities_.rowwise().sum();
    // -sum_k p_k log p_k, with log p_k = x_k - log sum
    const double entropy = sum.array().log().mean() -
                           ((probabilities_ * values_).rowwise().sum() / sum.array()).mean();
    probabilities_.colwise() /= sum.array();
    Averages result{{}, {}, entropy};
    for (Index k = 0; k < classes_; ++k) {
      result.mean.push_back(probabilities_.col(k).mean());
      result.mean_square.push_back(probabilities_.col(k).square().mean());
    }
    return result;
  }
  double probability(std::size_t of, const Scales& scales) {
    place(scales);
    return (probabilities_.col(static_cast<Index>(of)) / probabilities_.rowwise().sum()).mean();
  }

 private:
  // Outputs less the largest of their point, and their exponentials: a row per point and one per opposite.
  void place(const Scales& scales) {
    const Index count = points_.rows();
    values_.resize(2 * count, classes_);
    for (Index k = 0; k < classes_; ++k) {
      const double mean = scales.mean * mean_[static_cast<std::size_t>(k)];
      values_.col(k).head(count) = mean + scales.deviation * spread_.col(k);
      values_.col(k).tail(count) = mean - scales.deviation * spread_.col(k);
    }
    values_.colwise() -= values_.rowwise().maxCoeff().eval();
    probabilities_ = values_.exp();
  }

  // The widest directions first. The covariance may be empty: the outputs are independent.
  MatrixXd root_of(std::span<const double> variance, std::span<const double> covariance) const {
    MatrixXd all = MatrixXd::Zero(classes_, classes_);
    if (covariance.empty()) {
      all.diagonal() = Eigen::Map<const VectorXd>(variance.data(), classes_);
    } else {
      all = Eigen::Map<const MatrixXd>(covariance.data(), classes_, classes_);
    }
    const VectorXd common = all.rowwise().mean();
    all.rowwise() -= all.colwise().mean().eval();
    all.colwise() -= (common.array() - common.mean()).matrix().eval();
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(all);
    const VectorXd deviations = solver.eigenvalues().cwiseMax(0).cwiseSqrt();
    return (solver.eigenvectors() * deviations.asDiagonal())
        .rowwise()
        .reverse()
        .leftCols(classes_ - 1);
  }

  Index classes_;
  MatrixXd points_;
  ArrayXXd spread_, values_, probabilities_;
  std::span<const double> mean_;
};

Outputs row_of(const Outputs& outputs, std::size_t row, std::size_t width) {
  return {outputs.mean.subspan(row * width, width), outputs.variance.subspan(row * width, width),
          outputs.covariance.empty()
              ? outputs.covariance
              : outputs.covariance.subspan(row * width * width, width * width)};
}

// Calls f(row, averages).
template <class F>
void for_each_average(std::size_t classes, const Outputs& outputs, const F& f) {
  if (classes == 2) {
    for (std::size_t n = 0; n < outputs.mean.size(); ++n) {
      f(n, average_of_two(outputs.mean[n], outputs.variance[n]));
    }
    return;
  }
  ManyClassAverages averages(classes);
  for (std::size_t n = 0; n < outputs.mean.size() / classes; ++n) {
    averages.set(row_of(outputs, n, classes));
    f(n, averages.averages());
  }
}

// ---------------------------------------------------------------------------------------------- calibration

struct LogScales {
  double sharpness = 0, width = 0;

  Scales scales() const { return {std::exp(sharpness), std::exp(sharpness + width / 2)}; }
};

constexpr double sharpness_deviation = 0.5, width_deviation = 2;  // of the prior
// The two numbers need no more rows; with many classes a row costs more.
constexpr std::size_t most_rows = 1000, least_rows = 100, most_products = 100'000;
constexpr Index few_points = 32;

double prior_loss(const LogScales& at) {
  const double a = at.sharpness / sharpness_deviation;
  const double b = at.width / width_deviation;
  return (a * a + b * b) / 2;
}

// -log of the probabilities of rows that were not learnt and of the prior, for each of several scales.
class CalibrationLoss {
 public:
  CalibrationLoss(std::size_t classes, const Targets& targets, const Outputs& predicted)
      : classes_(classes), targets_(targets), predicted_(predicted) {
    const std::size_t most = std::clamp(most_products / (classes * classes), least_rows, most_rows);
    step_ = (targets.rows() + most - 1) / most;
  }

  std::vector<double> at(std::span<const LogScales> all) const {
    std::vector<double> losses;
    for (const LogScales& one : all) losses.push_back(prior_loss(one));
    classes_ == 2 ? add_two(all, losses) : add_many(all, losses);
    return losses;
  }

 private:
  // The least probability that a number can be: what is sure and wrong costs 708 nats.
  static double loss_of(double probability) {
    return -std::log(std::max(probability, std::numeric_limits<double>::min()));
  }
  bool is_known(std::size_t row) const {
    return !std::isnan(predicted_.mean[row * predicted_.mean.size() / targets_.rows()]);
  }
  void add_two(std::span<const LogScales> all, std::vector<double>& losses) const {
    for (std::size_t n = 0; n < targets_.rows(); n += step_) {
      if (!is_known(n)) continue;
      const double mean = targets_.values[n] > 0 ? predicted_.mean[n] : -predicted_.mean[n];
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Scales by = all[i].scales();
        losses[i] += targets_.weight(n) *
                     loss_of(special::quick_expected_logistic(
                         by.mean * mean, by.deviation * by.deviation * predicted_.variance[n]));
      }
    }
  }
  void add_many(std::span<const LogScales> all, std::vector<double>& losses) const {
    ManyClassAverages averages(classes_, few_points);
    for (std::size_t n = 0; n < targets_.rows(); n += step_) {
      if (!is_known(n)) continue;
      averages.set(row_of(predicted_, n, classes_));
      const std::size_t y = class_of(targets_.values[n]);
      for (std::size_t i = 0; i < all.size(); ++i) {
        losses[i] += targets_.weight(n) * loss_of(averages.probability(y, all[i].scales()));
      }
    }
  }

  std::size_t classes_;
  Targets targets_;
  const Outputs& predicted_;
  std::size_t step_;
};

// From these, to the best of the neighbours on a grid, again and again; then on a finer one.
LogScales most_probable_scales(const CalibrationLoss& loss, LogScales best) {
  constexpr int most_moves = 30;
  double step = 0.5;
  for (int move = 0; move < most_moves && step > 0.1; ++move) {
    std::vector<LogScales> around{best};
    for (const double a : {-step, 0.0, step}) {
      for (const double b : {-2 * step, 0.0, 2 * step}) {
        if (a != 0 || b != 0) around.push_back({best.sharpness + a, best.width + b});
      }
    }
    const std::vector<double> losses = loss.at(around);
    const auto least = std::min_element(losses.begin(), losses.end()) - losses.begin();
    if (least == 0) step /= 2;
    best = around[static_cast<std::size_t>(least)];
  }
  return best;
}

// log sum_{j != k} exp(x_j), a Gaussian by its derivatives p_j and p_j (1 - p_j) at the means.
struct Rest {
  double mean, variance;
};
Rest rest_of(std::size_t k, const Outputs& outputs) {
  std::vector<double> p, variance;
  for (std::size_t j = 0; j < outputs.mean.size(); ++j) {
    if (j == k) continue;
    p.push_back(outputs.mean[j]);
    variance.push_back(outputs.variance[j]);
  }
  Rest rest{to_probabilities(p), 0};
  for (std::size_t j = 0; j < p.size(); ++j) {
    rest.mean += p[j] * (1 - p[j]) * variance[j] / 2;
    rest.variance += p[j] * p[j] * variance[j];
  }
  return rest;
}

// The message of 1 / (1 + exp(-sign (x - r))) to x, r ~ N(rest): in the words of factors/tilted.h.
Gaussian<double> logistic_message(Rule rule, double sign, double mean, double variance,
                                  const Rest& rest) {
  const auto z = special::expected_logistic(sign * (mean - rest.mean), variance + rest.variance);
  double curvature = z.curvature;
  if (rule == Rule::linear) {
    const auto other =
        special::expected_logistic(-sign * (mean - rest.mean), variance + rest.variance);
    curvature = z.slope * z.slope * std::exp(z.log - other.log);
  }
  return tilted_message(Gaussian<double>::from_moments(mean, variance),
                        {sign * z.slope, curvature, 1 - variance * curvature});
}

// How much a variance flattens the logistic function of a mean (MacKay 1992).
double flattening(double variance) { return 1 / std::sqrt(1 + std::numbers::pi / 8 * variance); }

// The linear rule for more than two classes: whether a target is of class k, regressed on output k. Its probability is
// that of the softmax of flattened means: these sum to 1, so that the messages do not move all outputs the same way.
void regress_classes(std::size_t target, const Outputs& outputs, std::span<double> mean,
                     std::span<double> variance) {
  for (std::size_t k = 0; k < mean.size(); ++k) {
    mean[k] = outputs.mean[k] * flattening(outputs.variance[k]);
  }
  to_probabilities(mean);
  // What is less probable still gets the same push, with next to no precision: only its mean and variance would be too
  // large for single precision.
  constexpr double least = 1e-12;
  for (std::size_t k = 0; k < mean.size(); ++k) {
    const double p = std::clamp(mean[k], least, 1 - least);
    const double v = outputs.variance[k];
    const double slope = p * (1 - p) * flattening(v);  // of p by the mean
    mean[k] = outputs.mean[k] + ((k == target ? 1 : 0) - p) / slope;
    variance[k] = p * (1 - p) / (slope * slope) - v;
  }
}

}  // namespace

ClassLikelihood::ClassLikelihood(std::size_t classes, bool learns)
    : classes_(classes), learns_(learns) {
  require(
      classes >= 2 && classes <= most_classes,
      "classes must be 2 to " + std::to_string(most_classes) + ", got " + std::to_string(classes));
}

std::unique_ptr<Likelihood> ClassLikelihood::clone() const {
  return std::make_unique<ClassLikelihood>(*this);
}

std::unique_ptr<Likelihood> ClassLikelihood::for_outputs(std::size_t outputs) const {
  require(outputs == this->outputs(), std::to_string(classes_) + " classes need " +
                                          std::to_string(this->outputs()) + " outputs, got " +
                                          std::to_string(outputs));
  return clone();
}

void ClassLikelihood::validate(std::span<const double> targets) const {
  for (const double target : targets) {
    require(target >= 0 && target < static_cast<double>(classes_) && target == std::floor(target),
            "a class must be a whole number from 0 to " + std::to_string(classes_ - 1) + ", got " +
                std::to_string(target));
  }
}

void ClassLikelihood::message(Rule rule, std::span<const double> target, const Outputs& outputs,
                              std::span<double> mean, std::span<double> variance) const {
  const std::size_t y = class_of(target[0]);
  if (classes_ > 2 && rule == Rule::linear) return regress_classes(y, outputs, mean, variance);
  for (std::size_t k = 0; k < mean.size(); ++k) {
    const bool up = classes_ == 2 ? y == 1 : y == k;
    const Rest rest = classes_ == 2 ? Rest{0, 0} : rest_of(k, outputs);
    const Gaussian<double> message =
        logistic_message(rule, up ? 1 : -1, outputs.mean[k], outputs.variance[k], rest);
    mean[k] = message.mean();
    variance[k] = message.variance();
  }
}

std::unique_ptr<RowTerms> ClassLikelihood::terms(const Targets& targets,
                                                 std::span<const double> /*scales*/) {
  if (classes_ == 2) return std::make_unique<TwoClassTerms>(targets);
  return std::make_unique<ManyClassTerms>(targets, classes_);
}

double ClassLikelihood::sharpness() const { return std::exp(log_sharpness_); }
double ClassLikelihood::width() const { return std::exp(log_width_); }

OutputMoments ClassLikelihood::calibrated(const Outputs& outputs, double log_width) const {
  const Scales scales = LogScales{log_sharpness_, log_width}.scales();
  const auto times = [](std::span<const double> all, double factor) {
    std::vector<double> result(all.begin(), all.end());
    for (double& one : result) one *= factor;
    return result;
  };
  const double square = scales.deviation * scales.deviation;
  return {times(outputs.mean, scales.mean), times(outputs.variance, square),
          times(outputs.covariance, square)};
}

double ClassLikelihood::mean_nll(const Targets& targets, const Outputs& outputs) const {
  const OutputMoments moments = calibrated(outputs, log_width_);
  double sum = 0;
  if (classes_ == 2) {
    for (std::size_t n = 0; n < targets.rows(); ++n) {
      const double sign = targets.values[n] > 0 ? 1 : -1;
      sum -= targets.weight(n) *
             special::expected_logistic(sign * moments.mean[n], moments.variance[n]).log;
    }
  } else {
    for_each_average(classes_, moments.outputs(), [&](std::size_t n, const Averages& averages) {
      sum -= targets.weight(n) * std::log(averages.mean[class_of(targets.values[n])]);
    });
  }
  return sum / targets.weight();
}

Prediction ClassLikelihood::predictive(const Outputs& outputs, const LogScale& /*scale*/) const {
  Prediction prediction;
  const OutputMoments moments = calibrated(outputs, log_width_);
  for_each_average(classes_, moments.outputs(), [&](std::size_t /*row*/, const Averages& averages) {
    for (std::size_t k = 0; k < classes_; ++k) {
      const double mean = averages.mean[k];
      prediction.mean.push_back(mean);
      prediction.epistemic_variance.push_back(std::max(0.0, averages.mean_square[k] - mean * mean));
      prediction.noise_variance.push_back(std::max(0.0, mean - averages.mean_square[k]));
    }
    prediction.entropy.push_back(averages.entropy);
  });
  if (log_width_ > 0) add_noise_of_width(outputs, prediction);
  return prediction;
}

// A width above 1 is by what the function cannot be, whatever its weights are: more rows do not remove it. So what they
// could remove, H(E p) - E H(p), is that of width 1.
void ClassLikelihood::add_noise_of_width(const Outputs& outputs, Prediction& prediction) const {
  const OutputMoments moments = calibrated(outputs, 0);
  for_each_average(classes_, moments.outputs(), [&](std::size_t row, const Averages& averages) {
    double all = 0;
    double narrow = 0;
    for (std::size_t k = 0; k < classes_; ++k) {
      all += entropy_term(prediction.mean[row * classes_ + k]);
      narrow += entropy_term(averages.mean[k]);
    }
    prediction.entropy[row] = std::max(prediction.entropy[row], all - (narrow - averages.entropy));
  });
}

std::vector<double> ClassLikelihood::probabilities(std::span<const double> drawn,
                                                   std::span<const double> mean) const {
  const Scales scales = LogScales{log_sharpness_, log_width_}.scales();
  std::vector<double> values;
  for (std::size_t k = 0; k < drawn.size(); ++k) {
    values.push_back(scales.mean * mean[k] + scales.deviation * (drawn[k] - mean[k]));
  }
  if (classes_ == 2) return {logistic(-values[0]), logistic(values[0])};
  to_probabilities(values);
  return values;
}

Metrics ClassLikelihood::score(const Targets& targets, const Prediction& predicted) const {
  std::vector<double> known;
  std::vector<double> weights;
  std::vector<Predicted> all;
  for (std::size_t n = 0; n < targets.rows(); ++n) {
    const auto first = predicted.mean.begin() + static_cast<std::ptrdiff_t>(n * classes_);
    if (std::isnan(*first)) continue;
    known.push_back(targets.values[n]);
    weights.push_back(targets.weight(n));
    all.push_back({0, 0, 0});
    all.back().probabilities.assign(first, first + static_cast<std::ptrdiff_t>(classes_));
  }
  return known.empty() ? Metrics{} : dma::score(known, all, weights);
}

void ClassLikelihood::learn(const Targets& targets, const Outputs& predicted) {
  if (!learns_ || targets.rows() == 0) return;
  const LogScales best = most_probable_scales(CalibrationLoss(classes_, targets, predicted),
                                              {log_sharpness_, log_width_});
  log_sharpness_ = best.sharpness;
  log_width_ = best.width;
}

void ClassLikelihood::store(Arrays& stored) const {
  stored.put("log_sharpness", log_sharpness_);
  stored.put("log_width", log_width_);
}

void ClassLikelihood::restore(Arrays& stored) {
  log_sharpness_ = stored.take_number("log_sharpness");
  log_width_ = stored.take_number("log_width");
  require(std::isfinite(log_sharpness_) && std::isfinite(log_width_),
          "the calibration of its classes is not finite");
}

}  // namespace dma
