// fig:validation_relu: the marginals of the leaky ReLU, slope 0.1, x ~ N(1, 1).
//
// The caption names no message on y. "forward" has none: its marginal of y is the forward message.
// For the backward one y is observed above, at and below the kink.
#include <dma/factors/leaky_relu.h>

#include <array>

#include "validation/exact_messages.h"
#include "validation/experiment.h"
#include "validation/marginal_comparison.h"

namespace dma::validation {
namespace {

constexpr double slope = 0.1;

FactorSetting relu_setting(const char* name, Gaussian<double> y) {
  const auto x = Gaussian<double>::from_moments(1, 1);
  const LeakyRelu relu{slope};
  const auto log_of_y = [=](double at) { return y.is_uniform() ? 0 : y.log_density(at); };
  const auto log_density = [=](std::size_t edge, double at) {
    if (edge == 0) return log_of_y(at) + ReluToY{relu, x}.log_density(at);
    return x.log_density(at) + log_of_y(relu.apply(at));
  };
  return factor_setting(name, relu, {"y", "x"}, {y, x}, log_density);
}

}  // namespace

nlohmann::json relu() {
  const auto normal = Gaussian<double>::from_moments;
  auto result = compare_marginals(std::array{relu_setting("forward", Gaussian<double>::uniform()),
                                             relu_setting("observed above", normal(1, 0.25)),
                                             relu_setting("observed at the kink", normal(0, 0.25)),
                                             relu_setting("observed below", normal(-0.2, 0.01))});
  result["settings"]["slope"] = slope;
  result["settings"]["y"] =
      "the paper's caption gives x only; forward: no message on y; else y is observed";
  return result;
}

}  // namespace dma::validation
