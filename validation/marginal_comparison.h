// validation/marginal_comparison.h: the marginals of one factor with unary neighbours, by direct messages (both rules)
// and by EP, compared with importance sampling and the exact moments (App. C).
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

#include <dma/graph/graph.h>

namespace dma::validation {

inline constexpr std::size_t comparison_samples = 500'000;
inline constexpr std::uint64_t comparison_seed = 1;

// One factor and the messages that arrive on its edges: output first, which may be uniform.
struct FactorSetting {
  std::string name;
  std::vector<std::string> variables;
  std::vector<Gaussian<double>> in;
  std::function<double(std::span<const double>)> relation;
  std::function<Gaussian<double>(std::size_t)> exact;
  // Log density of the exact marginal of an edge's variable, up to a constant.
  std::function<double(std::size_t, double)> log_density;
  std::function<void(Graph&, std::span<const Variable>)> add_factor;
};

template <DeterministicFactor F>
FactorSetting factor_setting(std::string name, const F& factor, std::vector<std::string> variables,
                             std::vector<Gaussian<double>> in,
                             std::function<double(std::size_t, double)> log_density) {
  return {std::move(name),
          std::move(variables),
          in,
          [factor](std::span<const double> inputs) { return factor.relation(inputs); },
          [factor, in](std::size_t edge) { return factor.marginal(edge, in); },
          std::move(log_density),
          [factor](Graph& graph, std::span<const Variable> edges) { graph.add(factor, edges); }};
}

// {"settings", "summary", "verdicts", "rows", "figures"}: one row per setting, variable and method, and
// the densities.
nlohmann::json compare_marginals(std::span<const FactorSetting> settings);

}  // namespace dma::validation
