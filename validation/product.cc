// fig:validation_product: the marginals of z = x y at the paper's nominal and stress settings.
#include <dma/factors/product.h>

#include <array>

#include "validation/exact_messages.h"
#include "validation/experiment.h"
#include "validation/marginal_comparison.h"

namespace dma::validation {
namespace {

FactorSetting product_setting(const char* name, Gaussian<double> x, Gaussian<double> y,
                              Gaussian<double> z) {
  const auto log_density = [=](std::size_t edge, double at) {
    if (edge == 0) return z.log_density(at) + ProductToZ{x, y}.log_density(at);
    if (edge == 1) return x.log_density(at) + product_to_x_log_density(at, z, y);
    return y.log_density(at) + product_to_x_log_density(at, z, x);
  };
  return factor_setting(name, Product{}, {"z", "x", "y"}, {z, x, y}, log_density);
}

}  // namespace

nlohmann::json product() {
  const auto normal = Gaussian<double>::from_moments;
  return compare_marginals(
      std::array{product_setting("nominal", normal(3, 1), normal(4, 1), normal(10, 5)),
                 product_setting("stress", normal(1, 4), normal(-2.5, 1), normal(-5, 1))});
}

}  // namespace dma::validation
