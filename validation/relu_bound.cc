#include "validation/relu_bound.h"

#include <cmath>

#include <dma/factors/leaky_relu.h>
#include <dma/special/normal.h>

#include "validation/exact_messages.h"

namespace dma::validation {
namespace {

// q - p from the logarithms, without cancellation where they agree.
double difference_of(double log_p, double log_q) {
  if (std::abs(log_q - log_p) < 1) return std::exp(log_p) * std::expm1(log_q - log_p);
  return std::exp(log_q) - std::exp(log_p);
}

}  // namespace

BoundCheck check_master_theorem(const ReluSetting& setting) {
  const LeakyRelu relu{setting.slope};
  const ReluToX exact(relu, setting.y);
  const auto approximation = relu.to_x_direct(setting.y);
  const auto incoming = setting.incoming;
  const auto log_exact = [&](double x) { return exact.log_density(x); };
  // Resolves the narrower of incoming and message.
  const auto breaks =
      merged_breaks(merged_breaks(breaks_of(incoming), {0}), exact.breaks(approximation));
  const auto expected = [&](const auto& f) {
    return integral([&](double x) { return std::exp(incoming.log_density(x)) * f(x); }, breaks);
  };
  const double z = expected([&](double x) { return std::exp(log_exact(x)); });
  // Z_hat - Z = the integral of incoming (m_hat - m), which does not cancel as Z_hat and Z would.
  const double difference =
      expected([&](double x) { return difference_of(log_exact(x), approximation.log_density(x)); });
  const double divergence =
      expected([&](double x) { return bregman(log_exact(x), approximation.log_density(x)); });
  const double delta = message_kl(exact, approximation);
  const double largest = std::exp(incoming.log_density(incoming.mean()));
  return {.delta = delta,
          .marginal_kl = marginal_kl(log_exact, approximation, incoming, breaks),
          .bound = largest / z * delta,
          .decomposition = divergence / z - special::minus_log1p(difference / z)};
}

nlohmann::json row_of(const ReluSetting& setting, const BoundCheck& check) {
  return {{"slope", setting.slope},
          {"r", std::abs(setting.y.mean()) / setting.y.stddev()},
          {"incoming_width", setting.incoming.stddev()},
          {"delta", check.delta},
          {"marginal_kl", check.marginal_kl},
          {"bound", check.bound},
          {"ratio", check.ratio()}};
}

}  // namespace dma::validation
