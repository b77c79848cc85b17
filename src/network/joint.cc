#include "network/joint.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include <dma/special/normal.h>
#include <dma/special/random.h>

#include "network/require.h"

namespace dma {
namespace detail {
namespace {

constexpr Eigen::Index block_rows = 256;
constexpr double output_bias_precision = 0.01;  // the mean of the targets is 0
constexpr double least_left_over = 0.1;         // share of the rows that the noise is learnt from
constexpr double least_determined = 1e-9;

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

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

using LowerFactor = Eigen::LLT<Matrix>;

Matrix unpacked(const JointPosterior& posterior) {
  const Eigen::Index size = index(posterior.mean.size());
  Matrix lower = Matrix::Zero(size, size);
  auto next = posterior.factor.begin();
  for (Eigen::Index i = 0; i < size; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) lower(i, j) = *next++;
  }
  return lower;
}

void pack(const Matrix& precision, JointPosterior& posterior) {
  const LowerFactor factor(precision);
  const Matrix lower = factor.matrixL();
  require(
      factor.info() == Eigen::Success && lower.allFinite(),
      "a joint precision is not positive definite: some rows weigh so much that what the others "
      "say is lost beside them; look for a number far from those of the fit and leave its row "
      "out, or learn with independent weights");
  posterior.factor.clear();
  for (Eigen::Index i = 0; i < lower.rows(); ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) posterior.factor.push_back(lower(i, j));
  }
}

void set_mean(const Vector& mean, JointPosterior& posterior) {
  require(mean.allFinite(), "a joint mean is beyond the range of numbers");
  posterior.mean.assign(mean.begin(), mean.end());
}

Matrix precision_of(const JointPosterior& posterior) {
  const Matrix lower = unpacked(posterior);
  return lower * lower.transpose();
}

Vector centre_of(const JointPosterior& posterior) {
  const auto& centre = posterior.centre.empty() ? posterior.mean : posterior.centre;
  return Eigen::Map<const Vector>(centre.data(), index(centre.size()));
}

Vector mean_of(const JointPosterior& posterior) {
  return Eigen::Map<const Vector>(posterior.mean.data(), index(posterior.mean.size()));
}

// [A 0; B C]^-1 = [A^-1 0; -C^-1 B A^-1 C^-1], of a lower triangle, in place: a third of the work of
// solving for every column of the identity.
void invert(Eigen::Ref<Matrix> lower) {
  constexpr Eigen::Index small = 48;
  const Eigen::Index size = lower.rows();
  if (size <= small) {
    const Matrix copy = lower;
    lower.setIdentity();
    copy.triangularView<Eigen::Lower>().solveInPlace(lower);
    return;
  }
  const Eigen::Index half = size / 2;
  const Eigen::Index rest = size - half;
  invert(lower.topLeftCorner(half, half));
  invert(lower.bottomRightCorner(rest, rest));
  auto corner = lower.bottomLeftCorner(rest, half);
  const Matrix product = corner * lower.topLeftCorner(half, half).triangularView<Eigen::Lower>();
  corner.noalias() =
      -(lower.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>() * product);
}

Matrix inverse_of(Matrix lower) {
  invert(lower);
  return lower;
}

struct UnitValue {
  double value, gain;
};

UnitValue unit_at(JointUnit unit, double z, double slope) {
  const double below = special::normal_cdf(z);
  const double density = special::normal_pdf(z);
  if (unit == JointUnit::step) return {2 * below - 1, 2 * density};
  // For z << 0 the bracket cancels, next to slope z. special::leaky_relu_moments does not, but works out a
  // variance too.
  return {slope * z + (1 - slope) * (z * below + density), slope + (1 - slope) * below};
}

template <class Take>
void each_block(std::size_t rows, const Take& take) {
  for (std::size_t first = 0; first < rows; first += block_rows) {
    take(first, std::min<std::size_t>(block_rows, rows - first));
  }
}

}  // namespace

void network_values(const Architecture& architecture, JointUnit unit, const Vector& weights,
                    std::span<const double> inputs, std::size_t first, std::size_t count,
                    double* values, RowMatrix* gradients) {
  const std::size_t layers = architecture.layers();
  std::vector<std::vector<double>> units(layers);  // inputs of each layer, with the bias
  std::vector<std::vector<double>> gains(layers);  // of the units below it
  std::vector<double> back;
  std::vector<double> back_below;
  for (std::size_t l = 0; l < layers; ++l) {
    units[l].resize(architecture.fan_in(l), 1.0);
    gains[l].resize(architecture.fan_in(l));
  }
  if (gradients != nullptr) gradients->resize(index(count), weights.size());
  for (std::size_t n = 0; n < count; ++n) {
    const auto row = inputs.subspan((first + n) * architecture.inputs(), architecture.inputs());
    std::copy(row.begin(), row.end(), units[0].begin());
    for (std::size_t l = 0; l < layers; ++l) {
      const std::size_t fan_in = architecture.fan_in(l);
      const double* w = weights.data() + architecture.offset(l);
      for (std::size_t i = 0; i < architecture.width(l); ++i, w += fan_in) {
        double z = 0;
        for (std::size_t j = 0; j < fan_in; ++j) z += w[j] * units[l][j];
        if (l + 1 == layers) {
          values[n] = z;
        } else {
          const auto [value, gain] = unit_at(unit, z, architecture.slope(l));
          units[l + 1][i] = value;
          gains[l + 1][i] = gain;
        }
      }
    }
    if (gradients == nullptr) continue;
    back.assign(1, 1.0);
    for (std::size_t l = layers; l-- > 0;) {
      const std::size_t fan_in = architecture.fan_in(l);
      double* to = gradients->row(index(n)).data() + architecture.offset(l);
      for (std::size_t i = 0; i < architecture.width(l); ++i) {
        for (std::size_t j = 0; j < fan_in; ++j) to[i * fan_in + j] = back[i] * units[l][j];
      }
      if (l == 0) break;
      back_below.assign(architecture.widths[l], 0.0);
      const double* w = weights.data() + architecture.offset(l);
      for (std::size_t i = 0; i < architecture.width(l); ++i, w += fan_in) {
        for (std::size_t j = 0; j < back_below.size(); ++j) back_below[j] += back[i] * w[j];
      }
      for (std::size_t j = 0; j < back_below.size(); ++j) back_below[j] *= gains[l][j];
      back.swap(back_below);
    }
  }
}

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
  standing_precision_ = precision_of(posterior);
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

Vector JointTrainer::values(const JointRows& rows) const {
  Vector result(index(rows.rows));
  network_values(architecture_, unit_, weights_, rows.inputs, 0, rows.rows, result.data(), nullptr);
  return result;
}

JointTrainer::Messages JointTrainer::messages(const JointRows& rows, const Vector& variances,
                                              JointLedger* ledger) const {
  const Eigen::Index size = weights_.size();
  Messages sum{Matrix::Zero(size, size), Vector::Zero(size), Vector(index(rows.rows))};
  RowMatrix gradients;
  Vector slope(block_rows);
  each_block(rows.rows, [&](std::size_t first, std::size_t count) {
    double* values = sum.values.data() + first;
    network_values(architecture_, unit_, weights_, rows.inputs, first, count, values, &gradients);
    for (std::size_t n = 0; n < count; ++n) {
      const double y = rows.targets[first + n];
      double curvature = 0.5;
      if (likelihood_ == RowLikelihood::gaussian) {
        curvature = 1 / variances[index(first + n)];
        slope[index(n)] = (y - values[n]) * curvature;
      } else {
        slope[index(n)] = 0.5 * (y * std::exp(-values[n]) - 1);
      }
      // Scaled, so that J' J is the precision; the gradient takes the scale back.
      const double scale = std::sqrt(curvature);
      gradients.row(index(n)) *= scale;
      slope[index(n)] /= scale;
    }
    sum.gradient.noalias() += gradients.transpose() * slope.head(index(count));
    if (ledger != nullptr) {
      // The message's mean counts from 0, the gradient from the weights.
      const Vector shifts = slope.head(index(count)) + gradients * weights_;
      ledger->gradients.insert(ledger->gradients.end(), gradients.data(),
                               gradients.data() + gradients.size());
      ledger->shifts.insert(ledger->shifts.end(), shifts.begin(), shifts.end());
    }
    sum.precision.selfadjointView<Eigen::Lower>().rankUpdate(gradients.transpose());
  });
  return sum;
}

double JointTrainer::loss(const JointRows& rows, const Vector& variances,
                          const Vector& values) const {
  double sum = 0;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    const double f = values[index(n)];
    const double y = rows.targets[n];
    sum += likelihood_ == RowLikelihood::gaussian ? (y - f) * (y - f) / variances[index(n)]
                                                  : f + y * std::exp(-f);
  }
  return sum / 2;
}

double JointTrainer::mean_nll(const JointRows& rows, const Vector& variances,
                              const Vector& values) const {
  double sum = loss(rows, variances, values);
  if (likelihood_ == RowLikelihood::gaussian) sum += variances.array().log().sum() / 2;
  return sum / static_cast<double>(rows.rows) + special::log_sqrt_two_pi;
}

double JointTrainer::prior_loss() const {
  if (standing_mean_.size() > 0) {
    const Vector away = weights_ - standing_mean_;
    return away.dot(standing_precision_ * away) / 2;
  }
  return weights_.dot(prior().cwiseProduct(weights_)) / 2;
}

Vector JointTrainer::prior_gradient() const {
  if (standing_mean_.size() > 0) return standing_precision_ * (standing_mean_ - weights_);
  return -prior().cwiseProduct(weights_);
}

void JointTrainer::add_prior(Matrix& precision) const {
  if (standing_mean_.size() > 0) {
    precision += standing_precision_;
  } else {
    precision.diagonal() += prior();
  }
}

// MacKay's fixed point: precision = (well determined weights of the group) / (sum of their squares).
// Returns the number of well determined weights.
double JointTrainer::learn_precisions(const Matrix& precision) {
  const LowerFactor factor(precision);
  const Vector variance =
      inverse_of(factor.matrixL()).colwise().squaredNorm();  // diag of the inverse
  std::vector<double> determined(precision_.size(), 0);
  std::vector<double> squares(precision_.size(), 0);
  for (std::size_t k = 0; k < group_.size(); ++k) {
    const std::size_t g = group_[k];
    determined[g] += 1 - precision_[g] * variance[index(k)];
    squares[g] += weights_[index(k)] * weights_[index(k)];
  }
  double sum = 0;
  for (std::size_t g = 0; g < precision_.size(); ++g) {
    sum += determined[g];
    if (g + 1 == precision_.size()) break;  // the output bias keeps its own
    // Weights that no row has said anything about keep their prior: an input that was always 0.
    if (determined[g] < least_determined || !(squares[g] > 0)) continue;
    precision_[g] =
        std::clamp(determined[g] / squares[g], least_prior_precision, most_prior_precision);
  }
  return sum;
}

// Damped until the density rises. False if it never does.
bool JointTrainer::step(const JointRows& rows, const Vector& variances, const Messages& sum,
                        double& damping, double& gain) {
  const Vector old = weights_;
  const double base = loss(rows, variances, sum.values) + prior_loss();
  const Vector gradient = sum.gradient + prior_gradient();
  Matrix precision = sum.precision;
  add_prior(precision);
  for (int attempt = 0; attempt < 8; ++attempt) {
    Matrix damped = precision;
    damped.diagonal() *= 1 + damping;
    const LowerFactor factor(damped);
    if (factor.info() == Eigen::Success) {
      weights_ = old + factor.solve(gradient);
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

JointTrainer::Result JointTrainer::fit(const JointRows& rows, Vector& variances, double* noise,
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
      Matrix precision = sum.precision;
      add_prior(precision);
      const double determined = learn_precisions(precision);
      if (noise != nullptr) {
        double squares = 0;
        for (std::size_t n = 0; n < rows.rows; ++n) {
          squares += std::pow(rows.targets[n] - sum.values[index(n)], 2);
        }
        result.noise_bounded = count - determined < least_left_over * count;
        const double learnt = std::max(
            least_noise_variance, squares / std::max(least_left_over * count, count - determined));
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

JointPosterior JointTrainer::posterior(const JointRows& rows, const Vector& variances,
                                       JointLedger* ledger) const {
  const Messages sum = messages(rows, variances, ledger);
  Matrix precision = sum.precision;
  add_prior(precision);
  const Vector prior_precision = prior();
  JointPosterior result{architecture_,
                        unit_,
                        {weights_.begin(), weights_.end()},
                        {prior_precision.begin(), prior_precision.end()},
                        {}};
  pack(precision, result);
  if (standing_mean_.size() > 0) {
    // What stands, times the messages, to the bit: so that they can be taken out again.
    set_mean(weights_ + LowerFactor(precision).solve(sum.gradient + prior_gradient()), result);
    result.centre.assign(weights_.begin(), weights_.end());
  }
  return result;
}

JointPredictor::JointPredictor(const JointPosterior& posterior)
    : architecture_(posterior.architecture),
      unit_(posterior.unit),
      centre_(centre_of(posterior)),
      inverse_factor_(inverse_of(unpacked(posterior))) {
  if (!posterior.centre.empty()) step_ = mean_of(posterior) - centre_;
}

void JointPredictor::predict(std::span<const double> inputs, std::size_t rows, double* mean,
                             double* variance) const {
  RowMatrix gradients;
  Matrix whitened;
  each_block(rows, [&](std::size_t first, std::size_t count) {
    network_values(architecture_, unit_, centre_, inputs, first, count, mean + first, &gradients);
    if (step_.size() > 0) {
      Eigen::Map<Vector>(mean + first, index(count)) += gradients * step_;
    }
    whitened.noalias() = inverse_factor_.triangularView<Eigen::Lower>() * gradients.transpose();
    for (std::size_t n = 0; n < count; ++n) {
      variance[first + n] = whitened.col(index(n)).squaredNorm();
    }
  });
}

}  // namespace detail

JointPrediction predict(const JointPosterior& posterior, std::span<const double> inputs,
                        std::size_t rows) {
  JointPrediction result{std::vector<double>(rows), std::vector<double>(rows)};
  detail::JointPredictor(posterior).predict(inputs, rows, result.mean.data(),
                                            result.variance.data());
  return result;
}

// f(x; c) + J (m - c + L'^-1 z), z standard normal: the covariance is J (L L')^-1 J'.
std::vector<double> sample_functions(const JointPosterior& posterior,
                                     std::span<const double> inputs, std::size_t rows,
                                     std::size_t count, std::uint64_t seed) {
  using detail::index;
  special::Random random(seed);
  detail::Matrix steps(index(posterior.mean.size()), index(count));
  for (double& value : steps.reshaped()) value = random.normal();
  const detail::Matrix factor = detail::unpacked(posterior);
  factor.triangularView<Eigen::Lower>().transpose().solveInPlace(steps);
  const detail::Vector weights = detail::centre_of(posterior);
  steps.colwise() += detail::mean_of(posterior) - weights;
  std::vector<double> result(count * rows);
  Eigen::Map<detail::Matrix> values(result.data(), index(rows), index(count));
  std::vector<double> centre(rows);
  detail::RowMatrix gradients;
  detail::each_block(rows, [&](std::size_t first, std::size_t block) {
    detail::network_values(posterior.architecture, posterior.unit, weights, inputs, first, block,
                           centre.data() + first, &gradients);
    const Eigen::Map<const detail::Vector> mean(centre.data() + first, index(block));
    values.middleRows(index(first), index(block)) = (gradients * steps).colwise() + mean;
  });
  return result;
}

std::vector<double> marginal_variances(const JointPosterior& posterior) {
  const detail::Vector variances =
      detail::inverse_of(detail::unpacked(posterior)).colwise().squaredNorm();
  return {variances.begin(), variances.end()};
}

namespace detail {
namespace {

// The prior and the messages of all rows but these, which ascend.
Matrix precision_without(const JointPosterior& posterior, const JointLedger& ledger,
                         std::span<const std::size_t> rows) {
  const Eigen::Index weights = index(posterior.mean.size());
  const Eigen::Map<const RowMatrix> gradients(ledger.gradients.data(), index(ledger.shifts.size()),
                                              weights);
  Matrix precision = Matrix::Zero(weights, weights);
  precision.diagonal() = Eigen::Map<const Vector>(posterior.prior_precision.data(), weights);
  std::size_t first = 0;
  const auto add_until = [&](std::size_t end) {
    if (end > first) {  // Eigen divides by the number of rows
      const auto block = gradients.middleRows(index(first), index(end - first));
      precision.selfadjointView<Eigen::Lower>().rankUpdate(block.transpose());
    }
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
  detail::Matrix precision = detail::precision_of(posterior);
  detail::Vector shift = precision * detail::mean_of(posterior);
  for (const std::size_t row : rows) {
    const Eigen::Map<const detail::Vector> gradient(
        ledger.gradients.data() + row * posterior.mean.size(), shift.size());
    if (!all_in_ledger) precision.noalias() -= gradient * gradient.transpose();
    shift -= ledger.shifts[row] * gradient;
  }
  if (all_in_ledger) precision = detail::precision_without(posterior, ledger, rows);
  detail::pack(precision, posterior);
  if (posterior.centre.empty()) posterior.centre = posterior.mean;
  detail::set_mean(precision.llt().solve(shift), posterior);
}

}  // namespace dma
