#include "belief/certificate.h"

#include <algorithm>
#include <cmath>

#include "layers/signal_to_noise.h"

namespace dma::detail {
namespace {

// Quantiles at five ascending levels, the median first: each of the others then needs a part of the values only.
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
  certificate_.layers[index].uniform_messages +=
      append_signal_to_noise<T>(layer, index > 0, ratios_[index]);
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
    const auto weights = architecture.layer(l).part(rho);
    const auto [smallest, largest] = std::minmax_element(weights.begin(), weights.end());
    layer.smallest_precision = static_cast<double>(*smallest);
    layer.largest_precision = static_cast<double>(*largest);
  }
  return std::move(certificate_);
}

template class CertificateCollector<float>;
template class CertificateCollector<double>;

}  // namespace dma::detail
