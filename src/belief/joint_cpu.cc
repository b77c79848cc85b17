// The algebra of a joint belief on the CPU: blocks of rows (layers/block.h) and dense matrices (backend/dense.h).
#include "belief/joint_algebra.h"
#include "belief/joint_backend.h"
#include "belief/joint_messages.h"

namespace dma::detail {
namespace {

// The rows' curvatures and slopes, at the values of the network.
struct Expansion {
  std::vector<double> roots, slopes;

  Expansion(std::size_t rows, std::size_t outputs)
      : roots(rows * outputs * outputs), slopes(rows * outputs) {}
};

// R s of every row, R column by column: the gradient of log p(y | f) by its outputs.
std::vector<double> slopes_by_output(const Expansion& at, std::size_t outputs) {
  std::vector<double> result(at.slopes.size());
  for (std::size_t n = 0; n < result.size(); ++n) {
    const std::size_t row = n / outputs * outputs;
    for (std::size_t i = 0; i < outputs; ++i) {
      result[row + i] += at.roots[n * outputs + i] * at.slopes[n];
    }
  }
  return result;
}

// The message's mean counts from 0, the slope from the weights.
void fill_ledger(std::span<const double> inputs, const Expansion& at, const Vector& steps,
                 JointLedger& ledger) {
  ledger.inputs.assign(inputs.begin(), inputs.end());
  ledger.roots = at.roots;
  ledger.shifts = at.slopes;
  for (std::size_t n = 0; n < ledger.shifts.size(); ++n) ledger.shifts[n] += steps[index(n)];
}

// --------------------------------------------------------------------------------------- the form of weights

class WeightFactor final : public PosteriorFactor {
 public:
  WeightFactor(const Vector& gradient, const Vector& prior, Matrix lower)
      : gradient_(gradient), prior_(prior), lower_(std::move(lower)) {}

  Vector step(const Vector& x) const override { return solution(lower_, gradient_ + x); }
  Vector take_determined() override {
    const Vector variances = variances_of(inverse_of(std::move(lower_)));
    return Vector::Ones(prior_.size()) - prior_.cwiseProduct(variances);
  }
  void put(JointPosterior& posterior) const override { set_factor(lower_, posterior); }

 private:
  const Vector& gradient_;
  Vector prior_;
  Matrix lower_;
};

struct WeightSum final : MessageSum {
  void multiply(double factor) override {
    precision *= factor;
    gradient *= factor;
    curvature *= factor;
  }
  std::unique_ptr<PosteriorFactor> factor_with(const Vector& prior) const override {
    Matrix lower(precision.rows(), precision.cols());
    lower.triangularView<Eigen::Lower>() = precision;
    lower.diagonal() += prior;
    if (!backend::factorise(backend::target(lower))) return nullptr;
    return std::make_unique<WeightFactor>(gradient, prior, std::move(lower));
  }

  Matrix precision;  // lower triangle
};

Vector mean_over_units(const Architecture& architecture, const Vector& diagonal) {
  Vector result(diagonal.size());
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const Dense layer = architecture.layer(l);
    const Eigen::Map<const RowMatrix> own(diagonal.data() + layer.first, index(layer.units),
                                          index(layer.inputs));
    Eigen::Map<RowMatrix>(result.data() + layer.first, own.rows(), own.cols()) =
        own.colwise().mean().replicate(own.rows(), 1);
  }
  return result;
}

std::unique_ptr<MessageSum> sum_by_weights(const NetworkAt& network, std::span<const double> inputs,
                                           const RowTerms& terms, JointLedger* ledger) {
  const Architecture& architecture = network.architecture;
  const Vector& weights = network.weights;
  const std::size_t outputs = architecture.outputs();
  auto sum = std::make_unique<WeightSum>();
  sum->precision = Matrix::Zero(weights.size(), weights.size());
  sum->gradient = Vector::Zero(weights.size());
  sum->values.resize(terms.rows() * outputs);
  Expansion all(terms.rows(), outputs);
  Vector steps(index(terms.rows() * outputs));
  Matrix gradients;
  each_block(terms.rows(), [&](std::size_t first, std::size_t count) {
    const std::span values(sum->values.data() + first * outputs, count * outputs);
    const Block block(architecture, network.unit, weights, inputs, first, count, values.data());
    const std::span roots(all.roots.data() + first * outputs * outputs, count * outputs * outputs);
    double* slopes = all.slopes.data() + first * outputs;
    terms.expand(first, values, roots.data(), slopes);
    for (std::size_t c = 0; c < outputs; ++c) {
      using Stride = Eigen::InnerStride<>;
      const Stride step(index(outputs));
      block.write_gradients(column_of_roots(roots, c, outputs), gradients);
      sum->gradient.noalias() += gradients.transpose() * Eigen::Map<const Vector, 0, Stride>(
                                                             slopes + c, index(count), step);
      if (ledger != nullptr) {
        Eigen::Map<Vector, 0, Stride>(steps.data() + first * outputs + c, index(count), step) =
            gradients * weights;
      }
      backend::add_square(backend::operand(gradients).transposed(),
                          backend::target(sum->precision));
    }
  });
  sum->curvature = mean_over_units(architecture, sum->precision.diagonal());
  if (ledger != nullptr) fill_ledger(inputs, all, steps, *ledger);
  return sum;
}

// -------------------------------------------------------------------------------------- the form of messages

struct RowSum final : MessageSum {
  RowSum(Gradients own, Vector own_slopes)
      : gradients(std::move(own)), slopes(std::move(own_slopes)) {
    gradient = gradients.transposed_times(slopes);
    curvature = gradients.mean_curvature();
  }

  void multiply(double factor) override {
    gradients.multiply(std::sqrt(factor));
    slopes *= std::sqrt(factor);
    gradient *= factor;
    curvature *= factor;
  }
  std::unique_ptr<PosteriorFactor> factor_with(const Vector& prior) const override {
    const Vector variance = prior.cwiseInverse();
    auto factor =
        std::make_unique<MessageFactor>(gradients, slopes, variance, gradients.square(variance));
    if (!factor->sound()) return nullptr;
    return factor;
  }

  Gradients gradients;
  Vector slopes;
};

std::unique_ptr<MessageSum> sum_by_rows(const NetworkAt& network, std::span<const double> inputs,
                                        const RowTerms& terms, JointLedger* ledger) {
  const std::size_t outputs = network.architecture.outputs();
  std::vector<double> values = cpu_backend().values(network, inputs, terms.rows());
  Expansion at(terms.rows(), outputs);
  terms.expand(0, values, at.roots.data(), at.slopes.data());
  auto sum =
      std::make_unique<RowSum>(gradients_of(network, inputs, at.roots, values.data()),
                               Eigen::Map<const Vector>(at.slopes.data(), index(at.slopes.size())));
  sum->values = std::move(values);
  if (ledger != nullptr) fill_ledger(inputs, at, sum->gradients.times(network.weights), *ledger);
  return sum;
}

// ------------------------------------------------------------------------------------------------ prediction

// |L^-1 J'|^2 is a product, which is faster than solving. f(x; centre) + J step; a step of no size is none.
class WeightPredictor final : public JointPredictor {
 public:
  explicit WeightPredictor(const JointPosterior& posterior)
      : architecture_(posterior.architecture),
        unit_(posterior.unit),
        centre_(centre_of(posterior)),
        inverse_(inverse_of(factor_of(posterior))),
        whitening_(backend::operand(inverse_)) {
    if (architecture_.outputs() == 1) inverse_.resize(0, 0);
    if (!posterior.centre.empty()) step_ = mean_of(posterior) - centre_;
  }

  void predict(std::span<const double> inputs, std::size_t rows, double* mean, double* variance,
               double* covariance) const override;

 private:
  void add_steps(const Matrix& lots, std::size_t rows, double* mean) const;
  void predict_several(const Block& block, std::size_t rows, double* mean, double* variance,
                       double* covariance) const;

  Architecture architecture_;
  JointUnit unit_;
  Vector centre_;
  Vector step_;
  Matrix inverse_;  // of the factor; empty if there is one output
  backend::Whitening whitening_;
};

// mean[n] += g step, g row n of the lots.
void WeightPredictor::add_steps(const Matrix& lots, std::size_t rows, double* mean) const {
  const auto lot = static_cast<std::size_t>(lots.rows());
  const auto size = static_cast<std::size_t>(step_.size());
  for (std::size_t first = 0; first < rows; first += lot) {
    const std::size_t count = std::min(lot, rows - first);
    backend::add_product({lots.data() + first * size, count, size, 1, lot}, backend::operand(step_),
                         {mean + first, count, 1, count});
  }
}

void WeightPredictor::predict(std::span<const double> inputs, std::size_t rows, double* mean,
                              double* variance, double* covariance) const {
  const std::size_t outputs = architecture_.outputs();
  Matrix lots;
  each_block(rows, [&](std::size_t first, std::size_t count) {
    double* means = mean + first * outputs;
    const Block block(architecture_, unit_, centre_, inputs, first, count, means);
    if (outputs > 1) {
      predict_several(block, count, means, variance + first * outputs,
                      covariance + first * outputs * outputs);
      return;
    }
    block.write_lots(0, whitening_.lot_rows(), lots);
    if (step_.size() > 0) add_steps(lots, count, means);
    whitening_.squares(lots.data(), count, variance + first);
  });
}

// With whitened gradients W_k = L^-1 J_k' of output k: the covariance of outputs i and j is W_i' W_j.
void WeightPredictor::predict_several(const Block& block, std::size_t rows, double* mean,
                                      double* variance, double* covariance) const {
  const std::size_t outputs = architecture_.outputs();
  std::vector<Matrix> whitened(outputs);
  Matrix gradients;
  for (std::size_t k = 0; k < outputs; ++k) {
    block.write_gradients(only_output(k, outputs, rows), gradients);
    if (step_.size() > 0) {
      const Vector steps = gradients * step_;
      for (std::size_t n = 0; n < rows; ++n) mean[n * outputs + k] += steps[index(n)];
    }
    whitened[k] = Matrix::Zero(gradients.rows(), gradients.cols());
    backend::add_product(backend::operand(gradients), backend::operand(inverse_).transposed(),
                         backend::target(whitened[k]), backend::Holds::all, backend::Holds::upper);
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    for (std::size_t j = 0; j < outputs; ++j) {
      const Vector products = whitened[i].cwiseProduct(whitened[j]).rowwise().sum();
      for (std::size_t n = 0; n < rows; ++n) {
        covariance[(n * outputs + i) * outputs + j] = products[index(n)];
        if (i == j) variance[n * outputs + i] = products[index(n)];
      }
    }
  }
}

class Cpu final : public JointBackend {
 public:
  std::vector<double> values(const NetworkAt& network, std::span<const double> inputs,
                             std::size_t rows) const override {
    const std::size_t outputs = network.architecture.outputs();
    std::vector<double> result(rows * outputs);
    each_block(rows, [&](std::size_t first, std::size_t count) {
      write_values(network.architecture, network.unit, network.weights, inputs, first, count,
                   result.data() + first * outputs);
    });
    return result;
  }
  Slope slope(const NetworkAt& network, std::span<const double> inputs,
              const RowTerms& terms) const override {
    const Architecture& architecture = network.architecture;
    const std::size_t outputs = architecture.outputs();
    Slope sum{std::vector<double>(terms.rows() * outputs), Vector::Zero(network.weights.size())};
    each_block(terms.rows(), [&](std::size_t first, std::size_t count) {
      const std::span values(sum.values.data() + first * outputs, count * outputs);
      const Block block(architecture, network.unit, network.weights, inputs, first, count,
                        values.data());
      Expansion at(count, outputs);
      terms.expand(first, values, at.roots.data(), at.slopes.data());
      block.each_layer(slopes_by_output(at, outputs), [&](std::size_t l, const Matrix& units,
                                                          const Matrix& back) {
        const Dense layer = architecture.layer(l);
        backend::add_product(
            backend::operand(units).transposed(), backend::operand(back),
            {sum.gradient.data() + layer.first, layer.inputs, layer.units, layer.inputs});
      });
    });
    return sum;
  }
  std::unique_ptr<MessageSum> messages(const NetworkAt& network, std::span<const double> inputs,
                                       const RowTerms& terms, JointLedger* ledger,
                                       bool in_messages) const override {
    return in_messages ? sum_by_rows(network, inputs, terms, ledger)
                       : sum_by_weights(network, inputs, terms, ledger);
  }
  std::unique_ptr<JointPredictor> predictor(const JointPosterior& posterior) const override {
    if (posterior.in_messages()) return message_predictor(posterior);
    return std::make_unique<WeightPredictor>(posterior);
  }
};

}  // namespace

const JointBackend& cpu_backend() {
  static const Cpu cpu;
  return cpu;
}

// With D weights and M messages, the update of the precision takes M D^2 and what is done with it about D^3; the square of
// the gradients takes M^2 times the layers' widths and what is done with it about M^3.
EpochCost epoch_cost(const Architecture& architecture, std::size_t messages) {
  const auto weights = static_cast<double>(architecture.weight_count());
  const auto rows = static_cast<double>(messages);
  double widths = 0;
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const Dense layer = architecture.layer(l);
    widths += static_cast<double>(layer.inputs + layer.units);
  }
  return {weights * weights * (rows + weights), rows * rows * (widths + rows)};
}

}  // namespace dma::detail
