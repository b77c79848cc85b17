#include "experiments/figures.h"

#include <cmath>

namespace dma::experiments {

using nlohmann::json;

void append_band(const std::string& method, const Fit& fit, const Task& task, json& figures) {
  if (fit.failed()) return;
  const auto predicted = fit.predict(task.grid);
  const std::size_t outputs = task.model.outputs();
  for (std::size_t n = 0; n < predicted.size(); ++n) {
    const double reach = 2 * predicted[n].stddev();
    figures["band"].push_back({{"method", method},
                               {"output", n % outputs + 1},
                               {"x", task.grid.x[n / outputs]},
                               {"mean", predicted[n].mean},
                               {"lower", predicted[n].mean - reach},
                               {"upper", predicted[n].mean + reach},
                               {"truth", task.grid.truth[n]}});
  }
}

void append_points(const Rows& rows, json& figures) {
  const std::size_t outputs = rows.targets.size() / rows.size();
  for (std::size_t n = 0; n < rows.targets.size(); ++n) {
    figures["points"].push_back(
        {{"output", n % outputs + 1}, {"x", rows.x[n / outputs]}, {"y", rows.targets[n]}});
  }
}

void append_convergence(const std::string& method, std::span<const double> train_nll,
                        json& figures) {
  for (std::size_t e = 0; e < train_nll.size(); ++e) {
    figures["convergence"].push_back(
        {{"method", method}, {"epoch", e + 1}, {"train_nll", train_nll[e]}});
  }
}

void append_weights(const std::string& method, const Posterior<double>& posterior, json& figures) {
  const Architecture& network = posterior.architecture;
  for (std::size_t l = 0; l < network.layers(); ++l) {
    network.layer(l).each_weight([&](std::size_t k, std::size_t unit, std::size_t input) {
      figures["weights"].push_back({{"method", method},
                                    {"layer", l + 1},
                                    {"unit", unit + 1},
                                    {"input", input + 1},
                                    {"mean", posterior.tau[k] / posterior.rho[k]},
                                    {"std", 1 / std::sqrt(posterior.rho[k])}});
    });
  }
}

void append_coverage(const std::string& method, const Fit& fit, const Task& task, json& figures) {
  if (fit.failed()) return;
  const auto levels = calibration_levels();
  const std::pair<const char*, const Rows*> regions[]{{"inside", &task.inside},
                                                      {"outside", &task.calibration}};
  for (const auto& [region, rows] : regions) {
    const auto curve = coverage_curve(fit.predict(*rows), rows->truth);
    for (std::size_t k = 0; k < levels.size(); ++k) {
      figures["calibration"].push_back(
          {{"method", method}, {"region", region}, {"level", levels[k]}, {"coverage", curve[k]}});
    }
  }
}

}  // namespace dma::experiments
