// belief/certificate.h: collects what a Certificate reports.
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include <dma/belief/certificate.h>

#include "layers/sweep.h"

namespace dma::detail {

template <std::floating_point T>
class CertificateCollector {
 public:
  explicit CertificateCollector(std::size_t layers) : ratios_(layers), certificate_{.layers = {}} {
    certificate_.layers.resize(layers);
  }

  // The products of one layer, before its weights take their messages.
  void observe(std::size_t index, const typename Sweep<T>::Layer& layer);
  void count_example() { ++certificate_.examples; }
  Certificate finish(const Architecture& architecture, std::span<const T> rho);

 private:
  std::vector<std::vector<float>> ratios_;  // squared, of every product message, by layer
  Certificate certificate_;
};

}  // namespace dma::detail
