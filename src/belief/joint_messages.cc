#include "belief/joint_messages.h"

#include <limits>

#include "backend/dense.h"
#include "base/require.h"
#include "belief/joint_algebra.h"

namespace dma::detail {

std::vector<double> column_of_roots(std::span<const double> roots, std::size_t c,
                                    std::size_t outputs) {
  std::vector<double> factors;
  factors.reserve(roots.size() / outputs);
  for (std::size_t first = c * outputs; first < roots.size(); first += outputs * outputs) {
    const auto own = roots.subspan(first, outputs);
    factors.insert(factors.end(), own.begin(), own.end());
  }
  return factors;
}

Gradients gradients_of(const NetworkAt& network, std::span<const double> inputs,
                       std::span<const double> roots, double* values) {
  const std::size_t outputs = network.architecture.outputs();
  const std::size_t of_row = outputs * outputs;
  const std::size_t rows = roots.size() / of_row;
  Gradients gradients(network.architecture, rows * outputs);
  each_block(rows, [&](std::size_t first, std::size_t count) {
    const Block block(network.architecture, network.unit, network.weights, inputs, first, count,
                      values + first * outputs);
    for (std::size_t c = 0; c < outputs; ++c) {
      gradients.set(first * outputs + c, outputs, block,
                    column_of_roots(roots.subspan(first * of_row, count * of_row), c, outputs));
    }
  });
  return gradients;
}

Gradients gradients_at(const JointPosterior& posterior, const JointLedger& ledger) {
  std::vector<double> values(ledger.shifts.size());
  const Vector centre = centre_of(posterior);
  return gradients_of({posterior.architecture, posterior.unit, centre}, ledger.inputs, ledger.roots,
                      values.data());
}

Vector prior_variance_of(const JointPosterior& posterior) {
  return Eigen::Map<const Vector>(posterior.prior_precision.data(),
                                  index(posterior.prior_precision.size()))
      .cwiseInverse();
}

MessageFactor message_factor(const JointPosterior& posterior, const Gradients& gradients,
                             const Vector& slopes) {
  const Vector variance = prior_variance_of(posterior);
  MessageFactor factor(gradients, slopes, variance, gradients.square(variance));
  require(factor.sound(), not_positive_definite);
  return factor;
}

MessageFactor::MessageFactor(const Gradients& gradients, const Vector& slopes,
                             Vector prior_variance, Matrix square)
    : gradients_(gradients),
      slopes_(slopes),
      prior_variance_(std::move(prior_variance)),
      lower_(std::move(square)) {
  lower_.diagonal().array() += 1;
  sound_ = backend::factorise(backend::target(lower_));
}

Vector MessageFactor::step(const Vector& x) const {
  const Vector wide = prior_variance_.cwiseProduct(x);
  const Vector told = solution(lower_, slopes_ - gradients_.times(wide));
  return wide + prior_variance_.cwiseProduct(gradients_.transposed_times(told));
}

// 1 - variance / Q = Q G' K^-1 G, on its diagonal.
Vector MessageFactor::take_determined() {
  backend::invert(backend::target(lower_));
  Matrix inverse = Matrix::Zero(lower_.rows(), lower_.cols());
  backend::add_square(backend::operand(lower_).transposed(), backend::target(inverse),
                      backend::Holds::upper);
  lower_.resize(0, 0);
  return prior_variance_.cwiseProduct(gradients_.sandwich_by_input(inverse));
}

Vector own_variances(const JointPosterior& posterior) {
  const Gradients gradients = gradients_of(posterior);
  const Vector left = variances_of(inverse_of(message_lower(posterior, gradients)));
  Vector result(left.size());
  for (Eigen::Index n = 0; n < left.size(); ++n) {
    const double root = posterior.ledger.roots[static_cast<std::size_t>(n)];
    result[n] = (1 - left[n]) / (root * root);
  }
  return result;
}

namespace {

// With the gradients H of new rows: variance H Q H' - |L^-1 G Q H'|^2, the difference of what the prior leaves open and
// what the messages have said. Its error is that of the first part, so nothing below that is claimed.
class MessagePredictor final : public JointPredictor {
 public:
  explicit MessagePredictor(const JointPosterior& posterior)
      : architecture_(posterior.architecture),
        unit_(posterior.unit),
        centre_(centre_of(posterior)),
        gradients_(gradients_of(posterior)),
        prior_variance_(prior_variance_of(posterior)),
        inverse_(inverse_of(message_lower(posterior, gradients_))) {
    if (!posterior.centre.empty()) step_ = mean_of(posterior) - centre_;
  }

  void predict(std::span<const double> inputs, std::size_t rows, double* mean, double* variance,
               double* covariance) const override {
    const std::size_t outputs = architecture_.outputs();
    each_block(rows, [&](std::size_t first, std::size_t count) {
      double* means = mean + first * outputs;
      const Block block(architecture_, unit_, centre_, inputs, first, count, means);
      std::vector<Gradients> own;
      std::vector<Matrix> whitened;
      for (std::size_t k = 0; k < outputs; ++k) {
        own.emplace_back(architecture_, count);
        own[k].set(0, 1, block, only_output(k, outputs, count));
        if (step_.size() > 0) add_steps(own[k].times(step_), k, means);
        whitened.push_back(whiten(own[k]));
      }
      for (std::size_t i = 0; i < outputs; ++i) {
        const Vector known = whitened[i].colwise().squaredNorm();
        const Vector open = own[i].square_diagonal(prior_variance_);
        constexpr double rounding = std::numeric_limits<double>::epsilon();
        for (std::size_t n = 0; n < count; ++n) {
          const double left = open[index(n)] - known[index(n)];
          variance[(first + n) * outputs + i] = std::max(left, rounding * open[index(n)]);
        }
      }
      if (outputs > 1) write_covariance(own, whitened, covariance + first * outputs * outputs);
    });
  }

 private:
  void add_steps(const Vector& steps, std::size_t output, double* mean) const {
    for (Eigen::Index n = 0; n < steps.size(); ++n) {
      mean[static_cast<std::size_t>(n) * architecture_.outputs() + output] += steps[n];
    }
  }
  Matrix whiten(const Gradients& own) const {
    const Matrix shared = gradients_.product(prior_variance_, own);
    Matrix result = Matrix::Zero(shared.rows(), shared.cols());
    backend::add_product(backend::operand(inverse_), backend::operand(shared),
                         backend::target(result), backend::Holds::lower);
    return result;
  }
  void write_covariance(const std::vector<Gradients>& own, const std::vector<Matrix>& whitened,
                        double* covariance) const {
    const std::size_t outputs = own.size();
    for (std::size_t i = 0; i < outputs; ++i) {
      for (std::size_t j = 0; j < outputs; ++j) {
        const Vector products = own[i].product_diagonal(prior_variance_, own[j]) -
                                whitened[i].cwiseProduct(whitened[j]).colwise().sum().transpose();
        for (Eigen::Index n = 0; n < products.size(); ++n) {
          covariance[(static_cast<std::size_t>(n) * outputs + i) * outputs + j] = products[n];
        }
      }
    }
  }

  Architecture architecture_;
  JointUnit unit_;
  Vector centre_;
  Vector step_;
  Gradients gradients_;
  Vector prior_variance_;
  Matrix inverse_;  // L^-1
};

}  // namespace

std::unique_ptr<JointPredictor> message_predictor(const JointPosterior& posterior) {
  return std::make_unique<MessagePredictor>(posterior);
}

}  // namespace dma::detail
