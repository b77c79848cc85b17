#include "belief/joint.h"

#include <algorithm>
#include <cmath>

#include <dma/special/normal.h>
#include <dma/special/random.h>

#include "base/require.h"

namespace dma {
namespace detail {
namespace {

constexpr double output_bias_precision = 0.01;  // the mean of the targets is 0
constexpr double least_left_over = 0.1;         // share of the rows that the noise is learnt from
constexpr double least_determined = 1e-9;

// Input columns (one by one or together), bias, then weights and bias of every further layer.
std::vector<std::size_t> groups_of(const Architecture& architecture, bool by_column) {
  std::vector<std::size_t> groups;
  std::size_t next = 0;
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const std::size_t fan_in = architecture.fan_in(l);
    for (std::size_t i = 0; i < architecture.width(l); ++i) {
      for (std::size_t j = 0; j < fan_in; ++j) {
        const bool bias = j + 1 == fan_in;
        groups.push_back(next + (l == 0 && by_column ? j : bias ? 1 : 0));
      }
    }
    next += l == 0 && by_column ? fan_in : 2;
  }
  return groups;
}

Matrix unpacked(const JointPosterior& posterior) {
  const Eigen::Index size = index(posterior.mean.size());
  Matrix lower(size, size);
  const double* next = posterior.factor.data();
  for (Eigen::Index i = 0; i < size; next += ++i) {
    lower.row(i).head(i + 1) = Eigen::Map<const Eigen::RowVectorXd>(next, i + 1);
  }
  return lower;
}

void pack(const Matrix& lower, JointPosterior& posterior) {
  posterior.factor.clear();
  posterior.factor.reserve(static_cast<std::size_t>(lower.rows() * (lower.rows() + 1) / 2));
  for (Eigen::Index i = 0; i < lower.rows(); ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) posterior.factor.push_back(lower(i, j));
  }
}

Matrix factor_of(Matrix precision) {
  require(
      backend::factorise(backend::target(precision)),
      "a joint precision is not positive definite: some rows weigh so much that what the others "
      "say is lost beside them; look for a number far from those of the fit and leave its row "
      "out, or learn with independent weights");
  return precision;
}

// (L L')^-1 x.
Vector solution(const Matrix& lower, Vector x) {
  lower.triangularView<Eigen::Lower>().solveInPlace(x);
  lower.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
  return x;
}

void set_mean(const Vector& mean, JointPosterior& posterior) {
  require(mean.allFinite(), "a joint mean is beyond the range of numbers");
  posterior.mean.assign(mean.begin(), mean.end());
}

// Its lower triangle.
Matrix precision_of(const Matrix& lower) {
  Matrix precision = Matrix::Zero(lower.rows(), lower.cols());
  backend::add_square(backend::operand(lower), backend::target(precision), backend::Holds::lower);
  return precision;
}

Vector centre_of(const JointPosterior& posterior) {
  const auto& centre = posterior.centre.empty() ? posterior.mean : posterior.centre;
  return Eigen::Map<const Vector>(centre.data(), index(centre.size()));
}

Vector mean_of(const JointPosterior& posterior) {
  return Eigen::Map<const Vector>(posterior.mean.data(), index(posterior.mean.size()));
}

Vector step_of(const JointPosterior& posterior) {
  return posterior.centre.empty() ? Vector() : mean_of(posterior) - centre_of(posterior);
}

Matrix inverse_of(Matrix lower) {
  backend::invert(backend::target(lower));
  return lower;
}

// The diagonal of (L L')^-1, from L^-1.
Vector variances_of(const Matrix& inverse) {
  Vector result(inverse.cols());
  for (Eigen::Index k = 0; k < result.size(); ++k) {
    result[k] = inverse.col(k).tail(result.size() - k).squaredNorm();
  }
  return result;
}

}  // namespace

// Sums over rows: what the messages say, without the prior.
struct JointTrainer::Messages {
  Matrix precision;  // lower triangle
  Vector gradient;   // of the log likelihood at the weights
  Vector values;     // f of every row
};

JointTrainer::JointTrainer(Architecture architecture, JointUnit unit, RowLikelihood likelihood,
                           double prior_precision, bool by_column)
    : architecture_(std::move(architecture)), unit_(unit), likelihood_(likelihood) {
  architecture_.validate(Rule::linear);
  require(architecture_.outputs() == 1, "a joint network has one output");
  for (std::size_t l = 0; l < architecture_.layers(); ++l) {
    require(architecture_.has_bias(l), "every layer of a joint network has a bias");
  }
  group_ = groups_of(architecture_, by_column);
  precision_.assign(*std::max_element(group_.begin(), group_.end()) + 1, prior_precision);
  precision_.back() = output_bias_precision;
  weights_ = Vector::Zero(index(group_.size()));
}

JointTrainer::JointTrainer(const JointPosterior& posterior, RowLikelihood likelihood,
                           bool by_column)
    : JointTrainer(posterior.architecture, posterior.unit, likelihood, 1, by_column) {
  weights_ = centre_of(posterior);
  for (std::size_t k = 0; k < group_.size(); ++k) {
    precision_[group_[k]] = posterior.prior_precision[k];
  }
}

void JointTrainer::stand_on(const JointPosterior& posterior) {
  standing_mean_ = mean_of(posterior);
  standing_precision_ = precision_of(unpacked(posterior));
}

void JointTrainer::draw_start(std::uint64_t seed, double gain) {
  special::Random random(seed);
  for (std::size_t l = 0; l < architecture_.layers(); ++l) {
    const std::size_t fan_in = architecture_.fan_in(l);
    const bool last = l + 1 == architecture_.layers();
    const double size = (last ? 0.1 : gain) / std::sqrt(static_cast<double>(fan_in - 1));
    for (std::size_t k = 0; k < architecture_.width(l) * fan_in; ++k) {
      const bool bias = (k + 1) % fan_in == 0;
      const double deviation = !bias ? size : last ? 0 : gain / 2;
      weights_[index(architecture_.offset(l) + k)] = deviation * random.normal();
    }
  }
}

void JointTrainer::set_output_bias(double value) { weights_[weights_.size() - 1] = value; }

Vector JointTrainer::prior() const {
  Vector result(weights_.size());
  for (std::size_t k = 0; k < group_.size(); ++k) result[index(k)] = precision_[group_[k]];
  return result;
}

std::size_t JointTrainer::bounded_precisions() const {
  return static_cast<std::size_t>(
      std::count_if(precision_.begin(), precision_.end(), [](double precision) {
        return precision <= least_prior_precision || precision >= most_prior_precision;
      }));
}

Vector JointTrainer::values(const Data& rows) const {
  Vector result(index(rows.rows));
  each_block(rows.rows, [&](std::size_t first, std::size_t count) {
    network_values(architecture_, unit_, weights_, rows.inputs, first, count, result.data() + first,
                   nullptr);
  });
  return result;
}

JointTrainer::Messages JointTrainer::messages(const Data& rows, const Vector& variances,
                                              JointLedger* ledger) const {
  const Eigen::Index size = weights_.size();
  Messages sum{Matrix::Zero(size, size), Vector::Zero(size), Vector(index(rows.rows))};
  Matrix gradients;
  Vector scale(index(block_rows));
  Vector slope(index(block_rows));
  each_block(rows.rows, [&](std::size_t first, std::size_t count) {
    // Scaled by the root of the curvature, so that J' J is the precision; the gradient takes the scale back.
    for (std::size_t n = 0; n < count; ++n) {
      scale[index(n)] =
          std::sqrt(likelihood_ == RowLikelihood::gaussian ? 1 / variances[index(first + n)] : 0.5);
    }
    double* values = sum.values.data() + first;
    network_values(architecture_, unit_, weights_, rows.inputs, first, count, values, &gradients,
                   scale.data());
    for (std::size_t n = 0; n < count; ++n) {
      const double y = rows.targets[first + n];
      slope[index(n)] = likelihood_ == RowLikelihood::gaussian
                            ? (y - values[n]) * scale[index(n)]
                            : 0.5 * (y * std::exp(-values[n]) - 1) / scale[index(n)];
    }
    sum.gradient.noalias() += gradients.transpose() * slope.head(index(count));
    if (ledger != nullptr) {
      // The message's mean counts from 0, the gradient from the weights.
      const Vector shifts = slope.head(index(count)) + gradients * weights_;
      const RowMatrix by_row = gradients;
      ledger->gradients.insert(ledger->gradients.end(), by_row.data(),
                               by_row.data() + by_row.size());
      ledger->shifts.insert(ledger->shifts.end(), shifts.begin(), shifts.end());
    }
    backend::add_square(backend::operand(gradients).transposed(), backend::target(sum.precision));
  });
  return sum;
}

double JointTrainer::loss(const Data& rows, const Vector& variances, const Vector& values) const {
  double sum = 0;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    const double f = values[index(n)];
    const double y = rows.targets[n];
    sum += likelihood_ == RowLikelihood::gaussian ? (y - f) * (y - f) / variances[index(n)]
                                                  : f + y * std::exp(-f);
  }
  return sum / 2;
}

double JointTrainer::mean_nll(const Data& rows, const Vector& variances,
                              const Vector& values) const {
  double sum = loss(rows, variances, values);
  if (likelihood_ == RowLikelihood::gaussian) sum += variances.array().log().sum() / 2;
  return sum / static_cast<double>(rows.rows) + special::log_sqrt_two_pi;
}

double JointTrainer::prior_loss() const {
  if (standing_mean_.size() > 0) {
    const Vector away = weights_ - standing_mean_;
    return away.dot(standing_precision_.selfadjointView<Eigen::Lower>() * away) / 2;
  }
  return weights_.dot(prior().cwiseProduct(weights_)) / 2;
}

Vector JointTrainer::prior_gradient() const {
  if (standing_mean_.size() > 0) {
    return standing_precision_.selfadjointView<Eigen::Lower>() * (standing_mean_ - weights_);
  }
  return -prior().cwiseProduct(weights_);
}

// Prior times messages, the lower triangle.
void JointTrainer::set_posterior_precision(const Messages& sum, Matrix& precision) const {
  precision.resize(weights_.size(), weights_.size());
  precision.triangularView<Eigen::Lower>() = sum.precision;
  if (standing_mean_.size() > 0) {
    precision.triangularView<Eigen::Lower>() += standing_precision_;
  } else {
    precision.diagonal() += prior();
  }
}

Matrix JointTrainer::posterior_factor(const Messages& sum) const {
  Matrix precision;
  set_posterior_precision(sum, precision);
  return factor_of(std::move(precision));
}

// MacKay's fixed point: precision = (well determined weights of the group) / (sum of their squares).
// Returns the number of well determined weights; nothing is learnt, and nothing returned, from a precision that is not
// positive definite in numbers.
std::optional<double> JointTrainer::learn_precisions(const Messages& sum) {
  Matrix factor;
  set_posterior_precision(sum, factor);
  if (!backend::factorise(backend::target(factor))) return {};
  const Vector variance = variances_of(inverse_of(std::move(factor)));
  std::vector<double> determined(precision_.size(), 0);
  std::vector<double> squares(precision_.size(), 0);
  for (std::size_t k = 0; k < group_.size(); ++k) {
    const std::size_t g = group_[k];
    determined[g] += 1 - precision_[g] * variance[index(k)];
    squares[g] += weights_[index(k)] * weights_[index(k)];
  }
  double all_determined = 0;
  for (std::size_t g = 0; g < precision_.size(); ++g) {
    all_determined += determined[g];
    if (g + 1 == precision_.size()) break;  // the output bias keeps its own
    // Weights that no row has said anything about keep their prior: an input that was always 0.
    if (determined[g] < least_determined || !(squares[g] > 0)) continue;
    precision_[g] =
        std::clamp(determined[g] / squares[g], least_prior_precision, most_prior_precision);
  }
  return all_determined;
}

// Damped until the density rises. False if it never does.
bool JointTrainer::step(const Data& rows, const Vector& variances, const Messages& sum,
                        double& damping, double& gain) {
  const Vector old = weights_;
  const double base = loss(rows, variances, sum.values) + prior_loss();
  const Vector gradient = sum.gradient + prior_gradient();
  Matrix factor;
  for (int attempt = 0; attempt < 8; ++attempt) {
    set_posterior_precision(sum, factor);
    factor.diagonal() *= 1 + damping;
    if (backend::factorise(backend::target(factor))) {
      weights_ = old + solution(factor, gradient);
      const double now = loss(rows, variances, values(rows)) + prior_loss();
      if (now < base) {
        gain = base - now;
        damping = std::max(1e-9, damping / 5);
        return true;
      }
    }
    damping = std::max(1e-6, damping * 5);
  }
  weights_ = old;
  damping = 1e-2;
  return false;
}

JointTrainer::Result JointTrainer::fit(const Data& rows, Vector& variances, double* noise,
                                       const JointSettings& settings, const State& start,
                                       const OnEpoch& after_epoch) {
  State state = start;
  Result& result = state.result;
  if (result.epochs == 0) state.damping = settings.damping;
  Messages sum = messages(rows, variances, nullptr);
  const auto count = static_cast<double>(rows.rows);
  const bool learn = standing_mean_.size() == 0;
  for (std::size_t epoch = result.epochs;
       epoch < settings.epochs && state.settled < settings.patience; ++epoch) {
    result.epochs = epoch + 1;
    if (settings.go_on && !settings.go_on(epoch + 1)) {
      result.stopped = Stopped::interrupted;
      return result;
    }
    if (learn && settings.learns_at(epoch)) {
      const std::optional<double> determined = learn_precisions(sum);
      if (determined && noise != nullptr) {
        double squares = 0;
        for (std::size_t n = 0; n < rows.rows; ++n) {
          squares += std::pow(rows.targets[n] - sum.values[index(n)], 2);
        }
        result.noise_bounded = count - *determined < least_left_over * count;
        const double learnt = std::max(
            least_noise_variance, squares / std::max(least_left_over * count, count - *determined));
        sum.precision *= *noise / learnt;
        sum.gradient *= *noise / learnt;
        *noise = learnt;
        variances.setConstant(learnt);
      }
    }
    double gain = 0;
    const bool stepped = step(rows, variances, sum, state.damping, gain);
    if (stepped) sum = messages(rows, variances, nullptr);
    result.train_nll.push_back(mean_nll(rows, variances, sum.values));
    if (epoch >= settings.evidence_from + 6) {
      state.settled = gain < settings.tolerance * count ? state.settled + 1 : 0;
    }
    // Without a step the messages may be older than the noise: computed anew they would differ in rounding.
    if (stepped && after_epoch) after_epoch(state);
  }
  if (state.settled >= settings.patience) result.stopped = Stopped::tolerance;
  return result;
}

JointTrainer::Parameters JointTrainer::parameters() const {
  return {{weights_.begin(), weights_.end()}, precision_};
}

void JointTrainer::set_parameters(const Parameters& parameters) {
  require(parameters.weights.size() == group_.size() &&
              parameters.precisions.size() == precision_.size(),
          "the parameters are those of another network");
  weights_ = Eigen::Map<const Vector>(parameters.weights.data(), weights_.size());
  precision_ = parameters.precisions;
}

JointPosterior JointTrainer::posterior(const Data& rows, const Vector& variances,
                                       JointLedger* ledger) const {
  const Messages sum = messages(rows, variances, ledger);
  const Matrix factor = posterior_factor(sum);
  const Vector prior_precision = prior();
  JointPosterior result{architecture_,
                        unit_,
                        {weights_.begin(), weights_.end()},
                        {prior_precision.begin(), prior_precision.end()},
                        {}};
  pack(factor, result);
  if (standing_mean_.size() > 0) {
    // What stands, times the messages, to the bit: so that they can be taken out again.
    set_mean(weights_ + solution(factor, sum.gradient + prior_gradient()), result);
    result.centre.assign(weights_.begin(), weights_.end());
  }
  return result;
}

JointPredictor JointTrainer::predictor(const Data& rows, const Vector& variances) const {
  const Messages sum = messages(rows, variances, nullptr);
  Matrix factor = posterior_factor(sum);
  Vector step;
  if (standing_mean_.size() > 0) step = solution(factor, sum.gradient + prior_gradient());
  return {architecture_, unit_, weights_, std::move(step), std::move(factor)};
}

JointPredictor::JointPredictor(const JointPosterior& posterior)
    : JointPredictor(posterior.architecture, posterior.unit, centre_of(posterior),
                     step_of(posterior), unpacked(posterior)) {}

JointPredictor::JointPredictor(Architecture architecture, JointUnit unit, Vector centre,
                               Vector step, Matrix factor)
    : architecture_(std::move(architecture)),
      unit_(unit),
      centre_(std::move(centre)),
      step_(std::move(step)),
      whitening_(backend::operand(inverse_of(std::move(factor)))) {}

// mean[n] += g step, g row n of the lots.
void JointPredictor::add_steps(const Matrix& lots, std::size_t rows, double* mean) const {
  const auto lot = static_cast<std::size_t>(lots.rows());
  const auto size = static_cast<std::size_t>(step_.size());
  for (std::size_t first = 0; first < rows; first += lot) {
    const std::size_t count = std::min(lot, rows - first);
    backend::add_product({lots.data() + first * size, count, size, 1, lot}, backend::operand(step_),
                         {mean + first, count, 1, count});
  }
}

void JointPredictor::predict(std::span<const double> inputs, std::size_t rows, double* mean,
                             double* variance) const {
  Matrix lots;
  each_block(rows, [&](std::size_t first, std::size_t count) {
    network_lots(architecture_, unit_, centre_, inputs, first, count, mean + first, lots,
                 whitening_.lot_rows());
    if (step_.size() > 0) add_steps(lots, count, mean + first);
    whitening_.squares(lots.data(), count, variance + first);
  });
}

Prediction JointPredictor::predict(std::span<const double> inputs, std::size_t rows) const {
  Prediction result{std::vector<double>(rows), std::vector<double>(rows), {}};
  predict(inputs, rows, result.mean.data(), result.epistemic_variance.data());
  return result;
}

}  // namespace detail

Prediction predict(const JointPosterior& posterior, std::span<const double> inputs,
                   std::size_t rows) {
  return detail::JointPredictor(posterior).predict(inputs, rows);
}

// f(x; c) + J (m - c + L'^-1 z), z standard normal: the covariance is J (L L')^-1 J'.
std::vector<double> sample_functions(const JointPosterior& posterior,
                                     std::span<const double> inputs, std::size_t rows,
                                     std::size_t count, std::uint64_t seed) {
  using detail::index;
  special::Random random(seed);
  detail::Matrix normal(index(posterior.mean.size()), index(count));
  for (double& value : normal.reshaped()) value = random.normal();
  const detail::Matrix inverse = detail::inverse_of(detail::unpacked(posterior));
  const detail::Vector weights = detail::centre_of(posterior);
  detail::Matrix steps = (detail::mean_of(posterior) - weights).rowwise().replicate(index(count));
  backend::add_product(backend::operand(inverse).transposed(), backend::operand(normal),
                       backend::target(steps), backend::Holds::upper);
  std::vector<double> result(count * rows);
  detail::Matrix gradients;
  detail::each_block(rows, [&](std::size_t first, std::size_t block) {
    std::vector<double> centre(block);
    detail::network_values(posterior.architecture, posterior.unit, weights, inputs, first, block,
                           centre.data(), &gradients);
    const backend::Target values{result.data() + first, block, count, rows};
    for (std::size_t s = 0; s < count; ++s) {
      std::copy(centre.begin(), centre.end(), values.data + s * rows);
    }
    backend::add_product(backend::operand(gradients), backend::operand(steps), values);
  });
  return result;
}

std::vector<double> marginal_variances(const JointPosterior& posterior) {
  const detail::Vector variances =
      detail::variances_of(detail::inverse_of(detail::unpacked(posterior)));
  return {variances.begin(), variances.end()};
}

namespace detail {
namespace {

// The prior and the messages of all rows but these, which ascend.
Matrix precision_without(const JointPosterior& posterior, const JointLedger& ledger,
                         std::span<const std::size_t> rows) {
  const std::size_t weights = posterior.mean.size();
  Matrix precision = Matrix::Zero(index(weights), index(weights));
  precision.diagonal() = Eigen::Map<const Vector>(posterior.prior_precision.data(), index(weights));
  std::size_t first = 0;
  const auto add_until = [&](std::size_t end) {
    const backend::Operand block{ledger.gradients.data() + first * weights, end - first, weights,
                                 weights, 1};
    backend::add_square(block.transposed(), backend::target(precision));
    first = end + 1;
  };
  for (const std::size_t row : rows) add_until(row);
  add_until(ledger.shifts.size());
  return precision;
}

}  // namespace
}  // namespace detail

void forget(JointPosterior& posterior, const JointLedger& ledger, std::span<const std::size_t> rows,
            bool all_in_ledger) {
  const std::size_t weights = posterior.mean.size();
  const detail::Matrix lower = detail::unpacked(posterior);
  const auto triangle = lower.triangularView<Eigen::Lower>();
  detail::Matrix precision;
  detail::Vector shift = triangle * (triangle.transpose() * detail::mean_of(posterior));
  if (!all_in_ledger) precision = detail::precision_of(lower);
  for (const std::size_t row : rows) {
    const double* own = ledger.gradients.data() + row * weights;
    const Eigen::Map<const detail::Vector> gradient(own, shift.size());
    if (!all_in_ledger) {
      backend::subtract_square({own, weights, 1, 1, weights}, backend::target(precision));
    }
    shift -= ledger.shifts[row] * gradient;
  }
  if (all_in_ledger) precision = detail::precision_without(posterior, ledger, rows);
  const detail::Matrix factor = detail::factor_of(std::move(precision));
  detail::pack(factor, posterior);
  if (posterior.centre.empty()) posterior.centre = posterior.mean;
  detail::set_mean(detail::solution(factor, shift), posterior);
}

}  // namespace dma
