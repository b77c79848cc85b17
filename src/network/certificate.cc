#include "network/certificate.h"

#include <algorithm>
#include <cmath>

namespace dma::detail {
namespace {

// |m| / s; infinite for a value that is known exactly.
template <std::floating_point T>
float signal_to_noise(T mean, T variance) {
  return static_cast<float>(std::abs(mean) / std::sqrt(variance));
}

float quantile(std::vector<float>& values, double p) {
  const auto k = static_cast<std::ptrdiff_t>(p * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + k, values.end());
  return values[static_cast<std::size_t>(k)];
}

}  // namespace

template <std::floating_point T>
void CertificateCollector<T>::observe(std::size_t index, const typename Sweep<T>::Layer& layer) {
  const std::size_t messages_per_product = layer.first ? 1 : 2;
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (std::isinf(layer.back_variance[i])) {
      certificate_.layers[index].uniform_messages += layer.inputs * messages_per_product;
      continue;
    }
    const T total = layer.back_variance[i] + layer.sum_variance[i];
    const T innovation = layer.back_mean[i] - layer.sum_mean[i];
    for (std::size_t j = 0; j < layer.inputs; ++j) {
      const T w = layer.mean[i * layer.stride + j];
      const T v = layer.variance[i * layer.stride + j];
      const T a = layer.input_mean[j];
      const T va = layer.input_variance[j];
      const T cavity_variance = total - v * (a * a + va) - va * w * w;
      const float z = signal_to_noise(innovation + w * a, cavity_variance);
      ratios_[index].push_back(std::min(z, va > 0 || a == 0 ? signal_to_noise(a, va) : z));
      if (!layer.first) ratios_[index].push_back(std::min(z, signal_to_noise(w, v)));
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
    // An input that is exactly zero says nothing about its weight: 0 / 0.
    std::replace_if(
        ratios.begin(), ratios.end(), [](float r) { return std::isnan(r); }, 0.0F);
    layer.product_messages = ratios.size() + layer.uniform_messages;
    if (!ratios.empty()) {
      const auto below = std::count_if(ratios.begin(), ratios.end(), [](float r) { return r < 2; });
      layer.share_below_two = static_cast<double>(below) / static_cast<double>(ratios.size());
      for (std::size_t k = 0; k < levels.size(); ++k) {
        layer.signal_to_noise[k] = quantile(ratios, levels[k]);
      }
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
