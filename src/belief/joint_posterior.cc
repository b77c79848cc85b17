#include <dma/belief/joint_posterior.h>

#include <cmath>
#include <limits>
#include <numeric>

#include <dma/special/random.h>

#include "belief/joint_algebra.h"
#include "belief/joint_messages.h"
#include "belief/uncertain_inputs.h"

namespace dma {
namespace detail {
namespace {

// Rows of a row-major array.
void erase_rows(std::vector<double>& numbers, std::size_t width,
                std::span<const std::size_t> rows) {
  std::vector<double> kept;
  kept.reserve(numbers.size() - rows.size() * width);
  std::size_t next = 0;
  for (std::size_t n = 0; n * width < numbers.size(); ++n) {
    if (next < rows.size() && rows[next] == n) {
      ++next;
      continue;
    }
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(n * width);
    kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  numbers = std::move(kept);
}

void append_rows(const JointLedger& more, JointLedger& ledger) {
  for (const auto array : {&JointLedger::inputs, &JointLedger::roots, &JointLedger::shifts}) {
    std::vector<double>& numbers = ledger.*array;
    numbers.insert(numbers.end(), (more.*array).begin(), (more.*array).end());
  }
}

void erase_rows(JointLedger& ledger, std::span<const std::size_t> rows, std::size_t inputs,
                std::size_t outputs) {
  erase_rows(ledger.inputs, inputs, rows);
  erase_rows(ledger.roots, outputs * outputs, rows);
  erase_rows(ledger.shifts, outputs, rows);
}

// The messages of these rows to this power: g g' and g t are multiplied by it, g and t by its root. To the power 0 they are
// not there.
void raise_rows(JointLedger& ledger, std::span<const std::size_t> rows, double power,
                std::size_t inputs, std::size_t outputs) {
  if (power == 0) return erase_rows(ledger, rows, inputs, outputs);
  const auto multiply = [&](std::vector<double>& numbers, std::size_t width) {
    for (const std::size_t row : rows) {
      for (std::size_t k = row * width; k < (row + 1) * width; ++k) numbers[k] *= std::sqrt(power);
    }
  };
  multiply(ledger.roots, outputs * outputs);
  multiply(ledger.shifts, outputs);
}

JointLedger rows_of(const JointLedger& ledger, std::span<const std::size_t> rows,
                    std::size_t inputs, std::size_t outputs) {
  JointLedger result;
  const auto take = [&](const std::vector<double>& from, std::size_t width,
                        std::vector<double>& to) {
    for (const std::size_t row : rows) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row * width);
      to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    }
  };
  take(ledger.inputs, inputs, result.inputs);
  take(ledger.roots, outputs * outputs, result.roots);
  take(ledger.shifts, outputs, result.shifts);
  return result;
}

Eigen::Map<const Vector> shifts_of(const JointLedger& ledger) {
  return {ledger.shifts.data(), index(ledger.shifts.size())};
}

// Precision times mean, in the form of weights.
Vector shift_of(const JointPosterior& posterior) {
  const Matrix lower = factor_of(posterior);
  const auto triangle = lower.triangularView<Eigen::Lower>();
  return triangle * (triangle.transpose() * mean_of(posterior));
}

// What precision times mean has beyond prior and messages, P m - G' (t - G m): a fit stops a little before its messages
// have their maximum, and rows that come and go leave that alone. In the form of messages.
Vector left_over(const JointPosterior& posterior) {
  const Vector mean = mean_of(posterior);
  const Gradients gradients = gradients_of(posterior);
  return mean.cwiseQuotient(prior_variance_of(posterior)) -
         gradients.transposed_times(shifts_of(posterior.ledger) - gradients.times(mean));
}

// precision + G' G, or - G' G.
enum class Sign { plus, minus };
void add_messages(const JointPosterior& posterior, const JointLedger& ledger, Sign sign,
                  Matrix& precision) {
  const std::size_t outputs = posterior.architecture.outputs();
  const std::size_t of_row = outputs * outputs;
  const Vector centre = centre_of(posterior);
  std::vector<double> values(block_rows * outputs);
  Matrix gradients;
  each_block(ledger.shifts.size() / outputs, [&](std::size_t first, std::size_t count) {
    const Block block(posterior.architecture, posterior.unit, centre, ledger.inputs, first, count,
                      values.data());
    for (std::size_t c = 0; c < outputs; ++c) {
      const auto roots = std::span(ledger.roots).subspan(first * of_row, count * of_row);
      block.write_gradients(column_of_roots(roots, c, outputs), gradients);
      const backend::Operand rows = backend::operand(gradients).transposed();
      if (sign == Sign::plus) {
        backend::add_square(rows, backend::target(precision));
      } else {
        backend::subtract_square(rows, backend::target(precision));
      }
    }
  });
}

void keep_centre(JointPosterior& posterior) {
  if (posterior.centre.empty()) posterior.centre = posterior.mean;
}

void set(Matrix precision, const Vector& shift, JointPosterior& posterior) {
  keep_centre(posterior);
  const Matrix factor = factorised(std::move(precision));
  set_factor(factor, posterior);
  set_mean(solution(factor, shift), posterior);
}

// In the form of messages, which may have changed.
void set(const Vector& left_over, JointPosterior& posterior) {
  keep_centre(posterior);
  const Gradients gradients = gradients_of(posterior);
  const Vector shifts = shifts_of(posterior.ledger);
  set_mean(message_factor(posterior, gradients, shifts).step(left_over), posterior);
}

// Of the prior and the messages of the ledger, summed in the order of a fit (joint_cpu.cc), so that it is the same to the
// bit.
Matrix precision_by_ledger(const JointPosterior& posterior) {
  const Eigen::Index weights = index(posterior.prior_precision.size());
  Matrix precision = Matrix::Zero(weights, weights);
  add_messages(posterior, posterior.ledger, Sign::plus, precision);
  precision.diagonal() += Eigen::Map<const Vector>(posterior.prior_precision.data(), weights);
  return precision;
}

// L'^-1 z in the form of weights, z standard normal. In that of messages: with prior draws v ~ N(0, Q) and z, both have the
// posterior's covariance: v - Q G' K^-1 (G v + z) (Matheron's rule).
Matrix draw_steps(const JointPosterior& posterior, std::size_t count, special::Random& random) {
  Matrix normal(index(posterior.mean.size()), index(count));
  for (double& value : normal.reshaped()) value = random.normal();
  if (!posterior.in_messages()) {
    const Matrix inverse = inverse_of(factor_of(posterior));
    Matrix steps = Matrix::Zero(normal.rows(), normal.cols());
    backend::add_product(backend::operand(inverse).transposed(), backend::operand(normal),
                         backend::target(steps), backend::Holds::upper);
    return steps;
  }
  const Gradients gradients = gradients_of(posterior);
  const Vector variance = prior_variance_of(posterior);
  const Matrix lower = message_lower(posterior, gradients);
  Matrix steps = variance.cwiseSqrt().asDiagonal() * normal;
  for (Eigen::Index s = 0; s < steps.cols(); ++s) {
    Vector miss = gradients.times(steps.col(s));
    for (double& value : miss) value += random.normal();
    const Vector told = gradients.transposed_times(solution(lower, std::move(miss)));
    steps.col(s) -= variance.cwiseProduct(told);
  }
  return steps;
}

}  // namespace

void take_factor_from_ledger(JointPosterior& posterior) {
  set_factor(factorised(precision_by_ledger(posterior)), posterior);
}

Matrix draw_weights(const JointPosterior& posterior, std::size_t count, std::uint64_t seed) {
  special::Random random(seed);
  Matrix weights = draw_steps(posterior, count, random);
  weights.colwise() += mean_of(posterior);
  return weights;
}

}  // namespace detail

OutputMoments outputs_of(const JointPosterior& posterior, std::span<const double> inputs,
                         std::size_t rows) {
  OutputMoments moments = detail::room_for(posterior.architecture, rows);
  detail::cpu_backend().predictor(posterior)->predict(
      inputs, rows, moments.mean.data(), moments.variance.data(), moments.covariance.data());
  return moments;
}

// f(x; c) + J (w - c), w drawn from the posterior; and what is uncertain of x.
std::vector<double> sample_functions(const JointPosterior& posterior,
                                     std::span<const double> inputs, std::size_t rows,
                                     std::size_t count, std::uint64_t seed) {
  using detail::index;
  const detail::Vector weights = detail::centre_of(posterior);
  detail::Matrix steps = detail::draw_weights(posterior, count, seed);
  steps.colwise() -= weights;
  const std::size_t outputs = posterior.architecture.outputs();
  std::vector<double> result(count * rows * outputs);
  detail::Matrix gradients;
  detail::each_block(rows, [&](std::size_t first, std::size_t block) {
    std::vector<double> centre(block * outputs);
    const detail::Block own(posterior.architecture, posterior.unit, weights, inputs, first, block,
                            centre.data());
    for (std::size_t k = 0; k < outputs; ++k) {
      own.write_gradients(detail::only_output(k, outputs, block), gradients);
      detail::Matrix values(index(block), index(count));
      for (std::size_t n = 0; n < block; ++n) {
        values.row(index(n)).setConstant(centre[n * outputs + k]);
      }
      backend::add_product(backend::operand(gradients), backend::operand(steps),
                           backend::target(values));
      for (std::size_t s = 0; s < count; ++s) {
        double* to = result.data() + (s * rows + first) * outputs + k;
        for (std::size_t n = 0; n < block; ++n) to[n * outputs] = values(index(n), index(s));
      }
    }
  });
  detail::add_drawn_inputs({posterior.architecture, posterior.unit, weights}, inputs, rows,
                           seed + 1, result);
  return result;
}

// In the form of messages: Q - |L^-1 G Q|^2, column by column; its error is that of Q, and nothing below is claimed.
std::vector<double> marginal_variances(const JointPosterior& posterior) {
  if (!posterior.in_messages()) {
    const detail::Vector variances =
        detail::variances_of(detail::inverse_of(detail::factor_of(posterior)));
    return {variances.begin(), variances.end()};
  }
  const detail::Gradients gradients = detail::gradients_of(posterior);
  const detail::Vector prior = detail::prior_variance_of(posterior);
  const detail::Matrix inverse = detail::inverse_of(detail::message_lower(posterior, gradients));
  const detail::Matrix all = gradients.all();
  detail::Matrix whitened = detail::Matrix::Zero(all.rows(), all.cols());
  backend::add_product(backend::operand(inverse), backend::operand(all), backend::target(whitened),
                       backend::Holds::lower);
  std::vector<double> result;
  for (Eigen::Index k = 0; k < prior.size(); ++k) {
    const double left = 1 - prior[k] * whitened.col(k).squaredNorm();
    result.push_back(prior[k] * std::max(left, std::numeric_limits<double>::epsilon()));
  }
  return result;
}

void forget(JointPosterior& posterior, std::span<const std::size_t> rows, bool all_in_ledger,
            double share_that_stays) {
  const std::size_t inputs = posterior.architecture.inputs();
  const std::size_t outputs = posterior.architecture.outputs();
  if (posterior.in_messages()) {
    const detail::Vector left_over = detail::left_over(posterior);
    detail::keep_centre(posterior);
    detail::raise_rows(posterior.ledger, rows, share_that_stays, inputs, outputs);
    return detail::set(left_over, posterior);
  }
  JointLedger gone = detail::rows_of(posterior.ledger, rows, inputs, outputs);
  std::vector<std::size_t> all(rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  detail::raise_rows(gone, all, 1 - share_that_stays, inputs, outputs);
  const detail::Vector shift =
      detail::shift_of(posterior) -
      detail::gradients_at(posterior, gone).transposed_times(detail::shifts_of(gone));
  detail::raise_rows(posterior.ledger, rows, share_that_stays, inputs, outputs);
  detail::Matrix precision;
  if (all_in_ledger) {
    precision = detail::precision_by_ledger(posterior);
  } else {
    precision = detail::precision_of(detail::factor_of(posterior));
    detail::add_messages(posterior, gone, detail::Sign::minus, precision);
  }
  detail::set(std::move(precision), shift, posterior);
}

namespace detail {
namespace {

// New rows beside a posterior, where the network is linear in its weights w: f(w) = f(c) + J (w - c).
class OnTop {
 public:
  OnTop(const JointPosterior& before, std::span<const double> inputs, const RowTerms& terms)
      : before_(before),
        inputs_(inputs),
        terms_(terms),
        centre_(centre_of(before)),
        at_centre_(cpu_backend().values(here(), inputs, terms.rows())),
        plain_(gradients_of(here(), inputs, plain_roots(), std::vector(at_centre_).data())),
        old_(before.in_messages() ? gradients_of(before) : Gradients(before.architecture, 0)) {
    if (!before.in_messages()) lower_ = factor_of(before);
  }

  std::vector<double> values(const Vector& weights) const {
    std::vector<double> result = at_centre_;
    const Vector steps = plain_.times(weights - centre_);
    for (std::size_t n = 0; n < result.size(); ++n) result[n] += steps[index(n)];
    return result;
  }
  // -log of posterior times likelihood, up to a constant.
  double loss(const Vector& weights) const {
    const Vector away = weights - mean_of(before_);
    double sum = terms_.loss(values(weights));
    if (before_.in_messages()) {
      sum += (away.cwiseAbs2().cwiseQuotient(prior_variance_of(before_)).sum() +
              old_.times(away).squaredNorm()) /
             2;
    } else {
      sum += (lower_.triangularView<Eigen::Lower>().transpose() * away).squaredNorm() / 2;
    }
    return sum;
  }
  // The rows' messages, with the curvature and slope that they have at these weights.
  JointLedger messages(const Vector& weights) const {
    JointLedger ledger{
        {inputs_.begin(), inputs_.end()}, plain_roots(), std::vector<double>(at_centre_.size())};
    terms_.expand(0, values(weights), ledger.roots.data(), ledger.shifts.data());
    const Vector steps = gradients_at(before_, ledger).times(weights);
    for (std::size_t n = 0; n < ledger.shifts.size(); ++n) ledger.shifts[n] += steps[index(n)];
    return ledger;
  }

 private:
  NetworkAt here() const { return {before_.architecture, before_.unit, centre_}; }
  // Identity matrices.
  std::vector<double> plain_roots() const {
    const std::size_t outputs = before_.architecture.outputs();
    std::vector<double> roots(terms_.rows() * outputs * outputs, 0);
    for (std::size_t n = 0; n < roots.size(); ++n) {
      if (n % (outputs * outputs) % (outputs + 1) == 0) roots[n] = 1;
    }
    return roots;
  }

  const JointPosterior& before_;
  std::span<const double> inputs_;
  const RowTerms& terms_;
  Vector centre_;
  std::vector<double> at_centre_;
  Gradients plain_, old_;
  Matrix lower_;
};

JointPosterior with(const JointPosterior& before, const JointLedger& fresh, bool keep_ledger) {
  JointPosterior posterior = before;
  if (posterior.in_messages()) {
    const Vector rest = left_over(posterior);
    append_rows(fresh, posterior.ledger);
    set(rest, posterior);
    return posterior;
  }
  const Vector shift =
      shift_of(posterior) + gradients_at(posterior, fresh).transposed_times(shifts_of(fresh));
  Matrix precision = precision_of(factor_of(posterior));
  add_messages(posterior, fresh, Sign::plus, precision);
  if (keep_ledger) append_rows(fresh, posterior.ledger);
  set(std::move(precision), shift, posterior);
  return posterior;
}

}  // namespace
}  // namespace detail

// Newton's steps to the maximum; a Gaussian likelihood, whose curvature is the same everywhere, takes one.
void learn(JointPosterior& posterior, std::span<const double> inputs, const RowTerms& terms,
           bool keep_ledger) {
  constexpr int most_steps = 50;
  constexpr double settled = 1e-9;  // of the loss
  const JointPosterior before = posterior;
  const detail::OnTop rows(before, inputs, terms);
  detail::Vector at = detail::mean_of(before);
  double loss = rows.loss(at);
  JointLedger fresh = rows.messages(at);
  for (int step = 0; step < most_steps; ++step) {
    posterior = detail::with(before, fresh, keep_ledger);
    detail::Vector next = detail::mean_of(posterior);
    double now = rows.loss(next);
    for (int halvings = 0; now > loss && halvings < most_steps; ++halvings) {
      next = (at + next) / 2;
      now = rows.loss(next);
    }
    JointLedger moved = rows.messages(next);
    const bool over = moved.roots == fresh.roots || !(loss - now > settled * std::abs(loss));
    if (over) break;
    at = next;
    loss = now;
    fresh = std::move(moved);
  }
}

}  // namespace dma
