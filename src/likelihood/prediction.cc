#include <dma/likelihood/prediction.h>

#include <cmath>

#include <dma/base/error.h>

namespace dma {
namespace {

// The noise variance of a part is exp(g), g ~ N(log(its mean) - spread^2 / 2, spread^2).
void mix_noise(std::span<const Prediction> parts, Prediction& mixture) {
  const auto count = static_cast<double>(parts.size());
  for (std::size_t n = 0; n < mixture.mean.size(); ++n) {
    double mean = 0;
    double variance = 0;
    const auto log_noise = [n](const Prediction& part) {
      return std::log(part.noise_variance[n]) - part.noise_spread[n] * part.noise_spread[n] / 2;
    };
    for (const Prediction& part : parts) mean += log_noise(part) / count;
    for (const Prediction& part : parts) {
      const double apart = log_noise(part) - mean;
      variance += (part.noise_spread[n] * part.noise_spread[n] + apart * apart) / count;
    }
    mixture.noise_variance[n] = std::exp(mean + variance / 2);
    mixture.noise_spread.push_back(std::sqrt(variance));
  }
}

}  // namespace

Prediction mix(std::span<const Prediction> parts) {
  const std::vector<double> zeros(parts.front().mean.size());
  Prediction mixture{zeros, zeros, zeros};
  const auto count = static_cast<double>(parts.size());
  for (const Prediction& part : parts) {
    if (part.mean.size() != mixture.mean.size()) {
      throw NetworkError("the members of a mixture must have the same outputs");
    }
  }
  for (std::size_t n = 0; n < mixture.mean.size(); ++n) {
    for (const Prediction& part : parts) {
      mixture.mean[n] += part.mean[n] / count;
      mixture.epistemic_variance[n] += part.epistemic_variance[n] / count;
      mixture.noise_variance[n] += part.noise_variance[n] / count;
    }
    for (const Prediction& part : parts) {
      const double apart = part.mean[n] - mixture.mean[n];
      mixture.epistemic_variance[n] += apart * apart / count;
    }
  }
  if (!parts.front().noise_spread.empty()) mix_noise(parts, mixture);
  return mixture;
}

}  // namespace dma
