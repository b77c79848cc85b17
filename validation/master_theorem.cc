// Theorem dma-master on the paper's 192 leaky-ReLU settings (App. C, first validation).
#include <algorithm>
#include <array>
#include <cmath>

#include <dma/special/quadrature.h>

#include "validation/experiment.h"
#include "validation/relu_bound.h"

namespace dma::validation {
namespace {

using nlohmann::json;

constexpr std::array slopes{0.1, 0.3, 0.5};
constexpr std::array widths{0.5, 1.0, 1.5, 2.0};
constexpr double incoming_mean = 1;
constexpr double paper_max_ratio = 0.97;

std::vector<ReluSetting> settings() {
  std::vector<ReluSetting> result;
  for (const double slope : slopes) {
    for (const double width : widths) {
      for (const double r : special::even_breaks(0.5, 7, 15)) {
        result.push_back({slope, Gaussian<double>::from_moments(-r, 1),
                          Gaussian<double>::from_moments(incoming_mean, width * width)});
      }
    }
  }
  return result;
}

}  // namespace

json master_theorem() {
  json rows = json::array();
  json worst;
  double max_ratio = 0;
  double decomposition_error = 0;
  std::size_t violations = 0;
  for (const ReluSetting& setting : settings()) {
    const BoundCheck check = check_master_theorem(setting);
    rows.push_back(row_of(setting, check));
    if (!(check.ratio() < 1)) ++violations;
    decomposition_error =
        std::max(decomposition_error, std::abs(check.decomposition / check.marginal_kl - 1));
    if (check.ratio() > max_ratio) {
      max_ratio = check.ratio();
      worst = {{"slope", setting.slope},
               {"incoming_width", setting.incoming.stddev()},
               {"r", -setting.y.mean()}};
    }
  }
  const std::size_t count = rows.size();
  rows.push_back({{"method", "direct"},
                  {"metric", "max_ratio"},
                  {"value", max_ratio},
                  {"paper_value", paper_max_ratio}});
  return {{"settings",
           {{"slopes", slopes},
            {"incoming_widths", widths},
            {"incoming_mean", incoming_mean},
            {"r", special::even_breaks(0.5, 7, 15)},
            {"y", "N(-r, 1)"},
            {"quadrature", "Gauss-Legendre panels of order 20, split at the kink"}}},
          {"summary",
           {{"settings", count},
            {"violations", violations},
            {"max_ratio", max_ratio},
            {"max_ratio_at", worst},
            {"paper_max_ratio", paper_max_ratio},
            {"decomposition_max_relative_difference", decomposition_error}}},
          {"rows", rows}};
}

}  // namespace dma::validation
