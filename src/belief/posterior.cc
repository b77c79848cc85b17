#include <dma/base/parallel.h>
#include <dma/belief/posterior.h>

#include <string>

#include <dma/special/random.h>

#include "layers/sweep.h"

namespace dma {
namespace {

// Rows that one thread takes at a time.
constexpr std::size_t grain = 256;

void check_inputs(const Architecture& architecture, std::span<const double> inputs,
                  std::size_t rows) {
  if (inputs.size() != rows * architecture.inputs()) {
    throw NetworkError("inputs must hold " + std::to_string(rows) + " rows of " +
                       std::to_string(architecture.inputs()) + " values, got " +
                       std::to_string(inputs.size()) + " values");
  }
}

template <std::floating_point T>
void predict_rows(const Posterior<T>& posterior, std::span<const double> inputs, std::size_t begin,
                  std::size_t end, OutputMoments& moments) {
  const Architecture& architecture = posterior.architecture;
  // The forward messages are the same under both rules.
  detail::Sweep<T> sweep(architecture, Rule::linear, kernels::simd<T>());
  sweep.load(posterior.tau, posterior.rho);
  std::vector<T> row(architecture.inputs());
  const std::size_t outputs = architecture.outputs();
  for (std::size_t n = begin; n < end; ++n) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = T(inputs[n * row.size() + j]);
    if (const auto broken = sweep.forward(row)) {
      throw NoPrediction(n, "the inputs are too large for layer " + std::to_string(*broken));
    }
    for (std::size_t k = 0; k < outputs; ++k) {
      moments.mean[n * outputs + k] = static_cast<double>(sweep.output_mean()[k]);
      moments.variance[n * outputs + k] = static_cast<double>(sweep.output_variance()[k]);
    }
  }
}

}  // namespace

NoPrediction::NoPrediction(std::size_t row, const std::string& why)
    : std::runtime_error("row " + std::to_string(row) + ": the prediction is not finite; " + why) {}

template <std::floating_point T>
OutputMoments outputs_of(const Posterior<T>& posterior, std::span<const double> inputs,
                         std::size_t rows, std::size_t threads) {
  check_inputs(posterior.architecture, inputs, rows);
  OutputMoments moments;
  moments.mean.resize(rows * posterior.architecture.outputs());
  moments.variance.resize(moments.mean.size());
  detail::parallel_ranges(rows, grain, threads, [&](std::size_t begin, std::size_t end) {
    predict_rows(posterior, inputs, begin, end, moments);
  });
  return moments;
}

template <std::floating_point T>
Prediction predict(const Posterior<T>& posterior, std::span<const double> inputs, std::size_t rows,
                   std::size_t threads) {
  return posterior.likelihood->predictive(outputs_of(posterior, inputs, rows, threads).outputs());
}

template <std::floating_point T>
Prediction predict(std::span<const Posterior<T>> members, std::span<const double> inputs,
                   std::size_t rows, std::size_t threads) {
  if (members.empty()) throw NetworkError("a mixture needs at least one member");
  std::vector<Prediction> parts;
  for (const auto& member : members) parts.push_back(predict(member, inputs, rows, threads));
  return mix(parts);
}

template <std::floating_point T>
std::vector<double> sample_functions(const Posterior<T>& posterior, std::span<const double> inputs,
                                     std::size_t rows, std::size_t count, std::uint64_t seed) {
  const Architecture& architecture = posterior.architecture;
  check_inputs(architecture, inputs, rows);
  special::Random random(seed);
  std::vector<double> weights(architecture.weight_count());
  std::vector<double> values;
  std::vector<double> result;
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const auto belief = Gaussian<double>{static_cast<double>(posterior.tau[k]),
                                           static_cast<double>(posterior.rho[k])};
      weights[k] = belief.mean() + belief.stddev() * random.normal();
    }
    for (std::size_t n = 0; n < rows; ++n) {
      values.assign(inputs.begin() + static_cast<std::ptrdiff_t>(n * architecture.inputs()),
                    inputs.begin() + static_cast<std::ptrdiff_t>((n + 1) * architecture.inputs()));
      evaluate(architecture, weights, values);
      result.insert(result.end(), values.begin(), values.end());
    }
  }
  return result;
}

template OutputMoments outputs_of(const Posterior<float>&, std::span<const double>, std::size_t,
                                  std::size_t);
template Prediction predict(const Posterior<float>&, std::span<const double>, std::size_t,
                            std::size_t);
template Prediction predict(std::span<const Posterior<float>>, std::span<const double>, std::size_t,
                            std::size_t);
template std::vector<double> sample_functions(const Posterior<float>&, std::span<const double>,
                                              std::size_t, std::size_t, std::uint64_t);
template OutputMoments outputs_of(const Posterior<double>&, std::span<const double>, std::size_t,
                                  std::size_t);
template Prediction predict(const Posterior<double>&, std::span<const double>, std::size_t,
                            std::size_t);
template Prediction predict(std::span<const Posterior<double>>, std::span<const double>,
                            std::size_t, std::size_t);
template std::vector<double> sample_functions(const Posterior<double>&, std::span<const double>,
                                              std::size_t, std::size_t, std::uint64_t);

}  // namespace dma
