#include "paper/adam.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace dma::cli {
namespace {

constexpr std::size_t units = PointNetwork::units;
using Hidden = std::array<double, units>;

// c + W x
Hidden activation(const PointNetwork& network, std::span<const double> input) {
  Hidden sums;
  const double* weights = network.weights.data();
  std::copy_n(weights + network.inputs * units, units, sums.begin());
  for (const double x : input) {
    for (double& sum : sums) sum += x * *weights++;
  }
  return sums;
}

// b + v max(0, a)
double output(const PointNetwork& network, const Hidden& sums) {
  const double* weights = network.weights.data() + (network.inputs + 1) * units;
  double result = weights[units];
  for (std::size_t j = 0; j < units; ++j) result += weights[j] * std::max(0.0, sums[j]);
  return result;
}

std::span<const double> input_of(const EncodedRows& examples, std::size_t row) {
  const std::size_t width = examples.inputs.size() / examples.rows;
  return std::span(examples.inputs).subspan(row * width, width);
}

// Fisher-Yates shuffle.
void shuffle(std::span<std::size_t> rows, special::Random& random) {
  for (std::size_t n = rows.size(); n > 1; --n) {
    std::swap(rows[n - 1],
              rows[static_cast<std::size_t>(random.uniform() * static_cast<double>(n))]);
  }
}

// Adds slope times the derivative of f(x) by each weight. With a = c + W x:
//
//   df/db = 1,    df/dv_j = max(0, a_j),    df/dc_j = v_j [a_j > 0],    df/dW_kj = x_k df/dc_j
void add_gradient(const PointNetwork& network, std::span<const double> input, const Hidden& sums,
                  double slope, std::vector<double>& gradient) {
  const std::size_t biases = network.inputs * units;
  const double* out_weights = network.weights.data() + biases + units;
  double* out_gradient = gradient.data() + biases + units;
  Hidden slopes;
  for (std::size_t j = 0; j < units; ++j) {
    slopes[j] = sums[j] > 0 ? slope * out_weights[j] : 0;
    gradient[biases + j] += slopes[j];
    out_gradient[j] += slope * std::max(0.0, sums[j]);
  }
  out_gradient[units] += slope;
  double* entry = gradient.data();
  for (const double x : input) {
    for (const double by_bias : slopes) *entry++ += x * by_bias;
  }
}

void train_epoch(const EncodedRows& examples, std::span<const std::size_t> rows, Adam& adam,
                 PointNetwork& network) {
  constexpr std::size_t batch = 32;
  for (std::size_t first = 0; first < rows.size(); first += batch) {
    const auto some = rows.subspan(first, std::min(batch, rows.size() - first));
    adam.step(squared_error_gradient(network, examples, some), network.weights);
  }
}

}  // namespace

void Adam::step(std::span<const double> gradient, std::span<double> weights) {
  constexpr double mean_decay = 0.9;
  constexpr double square_decay = 0.999;
  constexpr double epsilon = 1e-8;
  mean_remainder_ *= mean_decay;
  square_remainder_ *= square_decay;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const double g = gradient[k];
    mean_[k] = mean_decay * mean_[k] + (1 - mean_decay) * g;
    square_[k] = square_decay * square_[k] + (1 - square_decay) * g * g;
    weights[k] -= learning_rate_ * mean_[k] / (1 - mean_remainder_) /
                  (std::sqrt(square_[k] / (1 - square_remainder_)) + epsilon);
  }
}

PointNetwork PointNetwork::draw(std::size_t inputs, special::Random& random) {
  PointNetwork network{inputs, std::vector<double>((inputs + 2) * units + 1, 0)};
  const std::span<double> weights = network.weights;
  for (double& weight : weights.first(inputs * units)) {
    weight = std::sqrt(2 / static_cast<double>(inputs)) * random.normal();
  }
  for (double& weight : weights.subspan((inputs + 1) * units, units)) {
    weight = std::sqrt(2.0 / units) * random.normal();
  }
  return network;
}

double PointNetwork::predict(std::span<const double> input) const {
  return output(*this, activation(*this, input));
}

double squared_error(const PointNetwork& network, const EncodedRows& examples,
                     std::span<const std::size_t> rows) {
  double sum = 0;
  for (const std::size_t row : rows) {
    sum += std::pow(network.predict(input_of(examples, row)) - examples.targets[row], 2);
  }
  return sum / static_cast<double>(rows.size());
}

std::vector<double> squared_error_gradient(const PointNetwork& network, const EncodedRows& examples,
                                           std::span<const std::size_t> rows) {
  std::vector<double> gradient(network.weights.size(), 0);
  for (const std::size_t row : rows) {
    const auto input = input_of(examples, row);
    const Hidden sums = activation(network, input);
    const double miss = output(network, sums) - examples.targets[row];
    add_gradient(network, input, sums, 2 * miss / static_cast<double>(rows.size()), gradient);
  }
  return gradient;
}

AdamFit fit_adam(const EncodedRows& examples, std::uint64_t seed,
                 const std::function<bool()>& go_on) {
  constexpr std::size_t epochs = 200;
  constexpr double learning_rate = 0.01;
  special::Random random(seed);
  std::vector<std::size_t> order(examples.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order, random);
  const auto validation = std::span(order).first(std::max<std::size_t>(1, examples.rows / 10));
  const auto training = std::span(order).subspan(validation.size());
  PointNetwork network = PointNetwork::draw(examples.inputs.size() / examples.rows, random);
  Adam adam(network.weights.size(), learning_rate);
  AdamFit best{network, squared_error(network, examples, validation)};
  for (std::size_t epoch = 0; epoch < epochs && go_on(); ++epoch) {
    shuffle(training, random);
    train_epoch(examples, training, adam, network);
    const double error = squared_error(network, examples, validation);
    if (error < best.variance) best = {network, error};
  }
  return best;
}

}  // namespace dma::cli
