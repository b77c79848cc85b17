// z = x y with a noisy observation of z: one sweep of direct messages compared with the exact answer.
//
// The paper's nominal product setting (App. C): x ~ N(3, 1), y ~ N(4, 1), z observed as 10 with
// variance 5. The reference draws x and y from their priors and weighs each pair with the likelihood
// of the observation (importance sampling).
#include <dma/dma.h>

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <random>

namespace {

struct Reference {
  std::array<double, 3> mean{}, variance{};
  double effective_samples = 0;
};

Reference importance_sampling(std::size_t samples) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> standard;
  double mass = 0;
  double mass_of_squares = 0;
  std::array<double, 3> first{};
  std::array<double, 3> second{};
  for (std::size_t i = 0; i < samples; ++i) {
    const double x = 3 + standard(random);
    const double y = 4 + standard(random);
    const std::array value{x, y, x * y};
    const double weight = std::exp(-(value[2] - 10) * (value[2] - 10) / (2 * 5));
    mass += weight;
    mass_of_squares += weight * weight;
    for (std::size_t k = 0; k < 3; ++k) {
      first[k] += weight * value[k];
      second[k] += weight * value[k] * value[k];
    }
  }
  Reference reference;
  for (std::size_t k = 0; k < 3; ++k) {
    reference.mean[k] = first[k] / mass;
    reference.variance[k] = second[k] / mass - reference.mean[k] * reference.mean[k];
  }
  reference.effective_samples = mass * mass / mass_of_squares;
  return reference;
}

}  // namespace

int main() {
  dma::Graph graph;
  const auto x = graph.variable("x");
  const auto y = graph.variable("y");
  const auto z = graph.variable("z");
  graph.add(dma::Prior{3, 1}, x);
  graph.add(dma::Prior{4, 1}, y);
  graph.add(dma::Product{}, z, x, y);
  graph.add(dma::Observation{10, 5}, z);

  const auto direct = graph.sweep(dma::Rule::direct);
  const auto linear = graph.sweep(dma::Rule::linear);
  constexpr std::size_t samples = 1'000'000;
  const auto reference = importance_sampling(samples);

  fmt::print("z = x y,  x ~ N(3, 1),  y ~ N(4, 1),  z observed as 10 with variance 5\n\n");
  fmt::print("                     direct (paper)      linear      importance sampling\n");
  const std::array variables{x, y, z};
  for (std::size_t k = 0; k < 3; ++k) {
    const auto one = direct.marginal(variables[k]);
    const auto two = linear.marginal(variables[k]);
    fmt::print("{}  mean      {:17.4f}  {:14.4f}  {:17.4f}\n", graph.name(variables[k]), one.mean(),
               two.mean(), reference.mean[k]);
    fmt::print("   variance  {:17.4f}  {:14.4f}  {:17.4f}\n", one.variance(), two.variance(),
               reference.variance[k]);
  }
  fmt::print("\none forward and one backward sweep, {} messages; {} samples worth {:.0f}\n",
             direct.messages_sent, samples, reference.effective_samples);
}
