// Theorem dma-master on the paper's 192 leaky-ReLU settings (App. C, first validation).
#include <algorithm>
#include <array>
#include <cmath>

#include <dma/special/larger.h>
#include <dma/special/quadrature.h>

#include "validation/experiment.h"
#include "validation/relu_bound.h"
#include "validation/verdicts.h"

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

json verdicts(std::size_t count, std::size_t violations, double max_ratio) {
  return {verdict("settings that violate the bound",
                  std::to_string(violations) + " of " + std::to_string(count), "0 of 192",
                  agrees_if(violations == 0 && count == 192)),
          verdict("largest ratio of error to bound", digits(max_ratio), digits(paper_max_ratio),
                  agrees_if(std::abs(max_ratio - paper_max_ratio) < 0.005))};
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
        special::larger(decomposition_error, std::abs(check.decomposition / check.marginal_kl - 1));
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
          {"verdicts", verdicts(count, violations, max_ratio)},
          {"rows", rows}};
}

}  // namespace dma::validation
