#include "belief/certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dma::detail {
namespace {

// Signal-to-noise ratio, squared. That of a value known exactly is infinite, but an input that is exactly zero
// says nothing about its weight: 0 / 0 counts as 0.
template <std::floating_point T>
T squared_ratio(T signal, T noise) {
  const T square = signal * signal;
  if (noise == 0) return square > 0 ? std::numeric_limits<T>::infinity() : 0;
  return square / noise;
}

// The smaller of two squared ratios; 0 if one is not a number.
template <std::floating_point T>
T smaller_ratio(T signal_above, T noise_above, T signal, T noise) {
  const T above = squared_ratio(signal_above, noise_above);
  const T own = squared_ratio(signal, noise);
  return own < above ? own : own >= above ? above : 0;
}

// At five levels in ascending order, the median first: each of the others then needs a part of the values only.
void quantiles(std::vector<float>& values, std::span<const double, 5> levels,
               std::array<double, 5>& to) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = [&](std::size_t level) {
    return values.begin() + static_cast<std::ptrdiff_t>(levels[level] * last);
  };
  std::nth_element(values.begin(), at(2), values.end());
  std::nth_element(values.begin(), at(1), at(2));
  std::nth_element(values.begin(), at(0), at(1));
  std::nth_element(at(2), at(3), values.end());
  std::nth_element(at(3), at(4), values.end());
  for (std::size_t level = 0; level < levels.size(); ++level) {
    to[level] = std::sqrt(static_cast<double>(*at(level)));
  }
}

}  // namespace

template <std::floating_point T>
void CertificateCollector<T>::observe(std::size_t index, const typename Sweep<T>::Layer& layer) {
  const std::size_t messages_per_product = index == 0 ? 1 : 2;
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (std::isinf(layer.back_variance[i])) {
      certificate_.layers[index].uniform_messages += layer.inputs * messages_per_product;
      continue;
    }
    auto& ratios = ratios_[index];
    const std::size_t before = ratios.size();
    ratios.resize(before + layer.inputs * messages_per_product);
    float* to_weights = ratios.data() + before;
    float* to_inputs = to_weights + layer.inputs;
    const T total = layer.back_variance[i] + layer.sum_variance[i];
    const T innovation = layer.back_mean[i] - layer.sum_mean[i];
    const T* mean = layer.mean + i * layer.inputs;
    const T* variance = layer.variance + i * layer.inputs;
    for (std::size_t j = 0; j < layer.inputs; ++j) {
      const T w = mean[j];
      const T v = variance[j];
      const T a = layer.input_mean[j];
      const T va = layer.input_variance[j];
      const T cavity_variance = total - v * (a * a + va) - va * w * w;
      const T signal = innovation + w * a;
      to_weights[j] = static_cast<float>(smaller_ratio(signal, cavity_variance, a, va));
      if (index > 0)
        to_inputs[j] = static_cast<float>(smaller_ratio(signal, cavity_variance, w, v));
    }
  }
}

template <std::floating_point T>
Certificate CertificateCollector<T>::finish(const Architecture& architecture,
                                            std::span<const T> rho) {
  constexpr std::array levels{0.05, 0.25, 0.5, 0.75, 0.95};
  for (std::size_t l = 0; l < ratios_.size(); ++l) {
    LayerCertificate& layer = certificate_.layers[l];
    auto& ratios = ratios_[l];
    layer.product_messages = ratios.size() + layer.uniform_messages;
    if (!ratios.empty()) {
      const auto below = std::count_if(ratios.begin(), ratios.end(), [](float r) { return r < 4; });
      layer.share_below_two = static_cast<double>(below) / static_cast<double>(ratios.size());
      quantiles(ratios, levels, layer.signal_to_noise);
    }
    const auto weights =
        rho.subspan(architecture.offset(l), architecture.offset(l + 1) - architecture.offset(l));
    const auto [smallest, largest] = std::minmax_element(weights.begin(), weights.end());
    layer.smallest_precision = static_cast<double>(*smallest);
    layer.largest_precision = static_cast<double>(*largest);
  }
  return std::move(certificate_);
}

template class CertificateCollector<float>;
template class CertificateCollector<double>;

}  // namespace dma::detail
