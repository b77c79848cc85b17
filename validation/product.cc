// fig:validation_product: the marginals of z = x y at the paper's nominal and stress settings.
#include <dma/factors/product.h>

#include <array>

#include "validation/experiment.h"
#include "validation/marginal_comparison.h"

namespace dma::validation {
namespace {

FactorSetting product_setting(const char* name, Gaussian<double> x, Gaussian<double> y,
                              Gaussian<double> z) {
  return factor_setting(name, Product{}, {"z", "x", "y"}, {z, x, y});
}

}  // namespace

nlohmann::json product() {
  const auto normal = Gaussian<double>::from_moments;
  return compare_marginals(
      std::array{product_setting("nominal", normal(3, 1), normal(4, 1), normal(10, 5)),
                 product_setting("stress", normal(1, 4), normal(-2.5, 1), normal(-5, 1))});
}

}  // namespace dma::validation
