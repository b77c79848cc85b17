// The algebra of a joint belief on the CPU: blocks of rows (layers/block.h) and dense matrices (backend/dense.h).
#include "belief/joint_algebra.h"
#include "belief/joint_backend.h"

namespace dma::detail {
namespace {

// Column c of the root of every row: rows x outputs.
std::vector<double> column_of_roots(const RowMatrix& roots, std::size_t c, std::size_t outputs,
                                    std::size_t rows) {
  std::vector<double> factors;
  for (std::size_t n = 0; n < rows; ++n) {
    const double* own = roots.data() + (n * outputs + c) * outputs;
    factors.insert(factors.end(), own, own + outputs);
  }
  return factors;
}

// The message's mean counts from 0, the gradient from the weights.
void append_messages(const std::vector<Matrix>& gradients, const RowMatrix& slope,
                     const Vector& weights, JointLedger& ledger) {
  const Eigen::Index rows = gradients.front().rows();
  RowMatrix shifts(rows, index(gradients.size()));
  for (std::size_t c = 0; c < gradients.size(); ++c) {
    shifts.col(index(c)) = slope.col(index(c)).head(rows) + gradients[c] * weights;
  }
  ledger.shifts.insert(ledger.shifts.end(), shifts.data(), shifts.data() + shifts.size());
  RowMatrix by_row(rows, weights.size() * index(gradients.size()));
  for (std::size_t c = 0; c < gradients.size(); ++c) {
    by_row.middleCols(index(c) * weights.size(), weights.size()) = gradients[c];
  }
  ledger.gradients.insert(ledger.gradients.end(), by_row.data(), by_row.data() + by_row.size());
}

struct CpuSum final : MessageSum {
  void multiply(double factor) override {
    precision *= factor;
    gradient *= factor;
  }

  Matrix precision;  // lower triangle
};

// A row sends one message of rank one per column c of the root R of its curvature: gradient g = J' R_c, shift s_c + g w.
std::unique_ptr<CpuSum> sum_messages(const NetworkAt& network, std::span<const double> inputs,
                                     const RowTerms& terms, JointLedger* ledger) {
  const auto& [architecture, unit, weights] = network;
  const std::size_t outputs = architecture.outputs();
  auto sum = std::make_unique<CpuSum>();
  sum->precision = Matrix::Zero(weights.size(), weights.size());
  sum->gradient = Vector::Zero(weights.size());
  sum->values.resize(terms.rows() * outputs);
  std::vector<Matrix> gradients(outputs);  // by column of the roots
  RowMatrix root(index(block_rows * outputs), index(outputs));
  RowMatrix slope(index(block_rows), index(outputs));
  for (std::size_t first = 0; first < terms.rows(); first += block_rows) {
    const std::size_t count = std::min(block_rows, terms.rows() - first);
    double* values = sum->values.data() + first * outputs;
    const Block block(architecture, unit, weights, inputs, first, count, values);
    terms.expand(first, {values, count * outputs}, root.data(), slope.data());
    for (std::size_t c = 0; c < outputs; ++c) {
      block.write_gradients(column_of_roots(root, c, outputs, count), gradients[c]);
      sum->gradient.noalias() += gradients[c].transpose() * slope.col(index(c)).head(index(count));
    }
    if (ledger != nullptr) append_messages(gradients, slope, weights, *ledger);
    for (const Matrix& own : gradients) {
      backend::add_square(backend::operand(own).transposed(), backend::target(sum->precision));
    }
  }
  return sum;
}

class CpuFactor final : public PosteriorFactor {
 public:
  bool set(const MessageSum& sum, const PriorPrecision& prior, double damping) override {
    const Matrix& precision = static_cast<const CpuSum&>(sum).precision;
    lower_.resize(precision.rows(), precision.cols());
    lower_.triangularView<Eigen::Lower>() = precision;
    if (prior.whole != nullptr) {
      lower_.triangularView<Eigen::Lower>() += *prior.whole;
    } else {
      lower_.diagonal() += prior.diagonal;
    }
    if (damping > 0) lower_.diagonal() *= 1 + damping;
    return backend::factorise(backend::target(lower_));
  }
  Vector solve(Vector x) const override { return solution(lower_, std::move(x)); }
  double whitened_square(Vector x) const override {
    lower_.triangularView<Eigen::Lower>().solveInPlace(x);
    return x.squaredNorm();
  }
  Vector take_variances() override { return variances_of(inverse_of(std::move(lower_))); }
  Matrix lower() const override { return lower_; }

 private:
  Matrix lower_;
};

// |L^-1 J'|^2 is a product, which is faster than solving. f(x; centre) + J step; a step of no size is none.
class CpuPredictor final : public JointPredictor {
 public:
  explicit CpuPredictor(const JointPosterior& posterior)
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
void CpuPredictor::add_steps(const Matrix& lots, std::size_t rows, double* mean) const {
  const auto lot = static_cast<std::size_t>(lots.rows());
  const auto size = static_cast<std::size_t>(step_.size());
  for (std::size_t first = 0; first < rows; first += lot) {
    const std::size_t count = std::min(lot, rows - first);
    backend::add_product({lots.data() + first * size, count, size, 1, lot}, backend::operand(step_),
                         {mean + first, count, 1, count});
  }
}

void CpuPredictor::predict(std::span<const double> inputs, std::size_t rows, double* mean,
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
void CpuPredictor::predict_several(const Block& block, std::size_t rows, double* mean,
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
  std::unique_ptr<MessageSum> messages(const NetworkAt& network, std::span<const double> inputs,
                                       const RowTerms& terms, JointLedger* ledger) const override {
    return sum_messages(network, inputs, terms, ledger);
  }
  std::unique_ptr<PosteriorFactor> factor() const override { return std::make_unique<CpuFactor>(); }
  std::unique_ptr<JointPredictor> predictor(const JointPosterior& posterior) const override {
    return std::make_unique<CpuPredictor>(posterior);
  }
};

}  // namespace

const JointBackend& cpu_backend() {
  static const Cpu cpu;
  return cpu;
}

}  // namespace dma::detail
