#include <dma/layers/architecture.h>

#include <cmath>
#include <string>

#include <dma/factors/leaky_relu.h>
#include <dma/special/random.h>

#include "base/require.h"

namespace dma {
namespace {

using detail::require;

template <class List>
void require_length(const List& list, std::size_t length, const std::string& name) {
  require(list.size() == 1 || list.size() == length, name + " must have 1 entry or " +
                                                         std::to_string(length) + ", got " +
                                                         std::to_string(list.size()));
}

// More than any machine can address.
constexpr std::size_t most_weights = std::size_t{1} << 48U;

void require_countable(const Architecture& architecture) {
  std::size_t sum = 0;
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const Dense layer = architecture.layer(l);
    std::size_t weights = 0;
    const bool countable = architecture.widths[l] < most_weights &&
                           !__builtin_mul_overflow(layer.units, layer.inputs, &weights) &&
                           weights <= most_weights - sum;
    require(countable, "widths of " + std::to_string(architecture.widths[l]) + " and " +
                           std::to_string(layer.units) +
                           " make more weights than any memory holds");
    sum += weights;
  }
}

void require_ramps(const Architecture& architecture) {
  const Ramp* before = nullptr;
  for (const Ramp& ramp : architecture.ramps) {
    const bool same_input = before != nullptr && ramp.input == before->input;
    require(std::isfinite(ramp.from) && std::isfinite(ramp.to) && ramp.from < ramp.to,
            "a ramp must rise, got one from " + std::to_string(ramp.from) + " to " +
                std::to_string(ramp.to));
    require(ramp.input < architecture.inputs() &&
                (before == nullptr || ramp.input >= before->input) &&
                (!same_input || ramp.from == before->to),
            "ramps must follow each other, input by input, got one of input " +
                std::to_string(ramp.input) + " from " + std::to_string(ramp.from));
    before = &ramp;
  }
}

void require_uncertain(const Architecture& architecture) {
  for (const auto& [mean, deviation] : architecture.uncertain) {
    require(mean < architecture.inputs() && deviation < architecture.inputs() && mean != deviation,
            "an uncertain input must be one input and its deviation another, got " +
                std::to_string(mean) + " and " + std::to_string(deviation));
  }
}

}  // namespace

Dense Architecture::layer(std::size_t index) const {
  Dense layer{};
  for (std::size_t l = 0; l <= index; ++l) {
    const bool has_bias = bias[bias.size() == 1 ? 0 : l];
    const std::size_t inputs = widths[l] + (l == 0 ? ramps.size() : 0);
    layer = {layer.first + layer.weights(), widths[l + 1], inputs + (has_bias ? 1 : 0), has_bias};
  }
  return layer;
}

std::size_t Architecture::weight_count() const {
  const Dense last = layer(layers() - 1);
  return last.first + last.weights();
}

std::size_t Architecture::layer_of(std::size_t weight) const {
  std::size_t l = 0;
  while (layer(l).first + layer(l).weights() <= weight) ++l;
  return l;
}

void Architecture::validate(Rule rule) const {
  require(widths.size() >= 2, "widths must name at least the inputs and the outputs, got " +
                                  std::to_string(widths.size()) + " entries");
  for (std::size_t l = 0; l < widths.size(); ++l) {
    require(widths[l] > 0, "widths[" + std::to_string(l) + "] is 0");
  }
  if (layers() > 1) require_length(slopes, layers() - 1, "slopes");
  require_length(bias, layers(), "bias");
  require_countable(*this);
  require_ramps(*this);
  require_uncertain(*this);
  require_length(activation_variance, layers(), "activation_variance");
  for (std::size_t l = 0; l + 1 < layers(); ++l) {
    const double s = slope(l);
    require(s >= 0 && s <= 1, "the slope of layer " + std::to_string(l) +
                                  " must be in [0, 1], got " + std::to_string(s));
    require(s > 0 || rule == Rule::linear,
            "the slope of layer " + std::to_string(l) +
                " is 0, for which the direct rule has no message: use a slope in (0, 1] or "
                "Rule::linear");
  }
  for (std::size_t l = 0; l < layers(); ++l) {
    require(prior_variance_of_sum(l) > 0, "activation_variance of layer " + std::to_string(l) +
                                              " must be positive, got " +
                                              std::to_string(prior_variance_of_sum(l)));
  }
}

void WeightPrior::validate(const Architecture& architecture) const {
  const std::size_t count = architecture.weight_count();
  require(mean.size() == count && variance.size() == count,
          "the prior must have " + std::to_string(count) + " means and variances, got " +
              std::to_string(mean.size()) + " and " + std::to_string(variance.size()));
  for (std::size_t k = 0; k < count; ++k) {
    require(std::isfinite(mean[k]), "prior mean " + std::to_string(k) + " is not finite");
    require(variance[k] > 0 && std::isfinite(variance[k]),
            "prior variance " + std::to_string(k) + " must be positive and finite, got " +
                std::to_string(variance[k]));
  }
}

WeightPrior draw_prior(const Architecture& architecture, std::uint64_t seed, double scale) {
  require(scale > 0 && std::isfinite(scale),
          "the prior's scale must be positive, got " + std::to_string(scale));
  special::Random random(seed);
  WeightPrior prior;
  const auto layers = static_cast<double>(architecture.layers());
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const auto inputs = static_cast<double>(architecture.layer(l).inputs);
    for (std::size_t k = 0; k < architecture.layer(l).weights(); ++k) {
      prior.mean.push_back(random.normal() / std::sqrt(inputs));
      prior.variance.push_back(scale / (layers * inputs));
    }
  }
  return prior;
}

std::vector<double> draw_start(const Architecture& architecture, std::uint64_t seed, double gain) {
  special::Random random(seed);
  std::vector<double> weights;
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const bool last = l + 1 == architecture.layers();
    const Dense layer = architecture.layer(l);
    const double size =
        (last ? 0.1 : gain) / std::sqrt(static_cast<double>(architecture.widths[l]));
    layer.each_weight([&](std::size_t, std::size_t, std::size_t input) {
      const double deviation = !layer.is_bias(input) ? size : last ? 0 : gain / 2;
      weights.push_back(deviation * random.normal());
    });
  }
  return weights;
}

namespace {

// And of their ramps.
std::vector<std::size_t> groups_of_inputs(const Architecture& architecture, bool by_column) {
  std::vector<std::size_t> groups;
  for (std::size_t input = 0; input < architecture.inputs(); ++input) {
    groups.push_back(by_column ? input : 0);
  }
  std::size_t last = architecture.inputs();
  for (const Ramp& ramp : architecture.ramps) {
    const bool same = groups.size() > architecture.inputs() && (!by_column || ramp.input == last);
    groups.push_back(groups.back() + (same ? 0 : 1));
    last = ramp.input;
  }
  return groups;
}

}  // namespace

std::vector<std::size_t> weight_groups(const Architecture& architecture, bool by_column) {
  std::vector<std::size_t> groups;
  std::size_t next = 0;
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const Dense layer = architecture.layer(l);
    std::vector<std::size_t> own(layer.inputs - 1, 0);
    if (l == 0) own = groups_of_inputs(architecture, by_column);
    own.push_back(own.back() + 1);
    layer.each_weight(
        [&](std::size_t, std::size_t, std::size_t input) { groups.push_back(next + own[input]); });
    next += own.back() + 1;
  }
  return groups;
}

void evaluate(const Architecture& architecture, std::span<const double> weights,
              std::vector<double>& values) {
  std::vector<double> next;
  for (const Ramp& ramp : architecture.ramps) values.push_back(ramp.at(values[ramp.input]));
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const Dense layer = architecture.layer(l);
    if (layer.bias) values.push_back(1);
    next.assign(layer.units, 0);
    layer.each_weight([&](std::size_t weight, std::size_t unit, std::size_t input) {
      next[unit] += weights[weight] * values[input];
    });
    if (l + 1 < architecture.layers()) {
      for (double& value : next) value = LeakyRelu{architecture.slope(l)}.apply(value);
    }
    values.swap(next);
  }
}

}  // namespace dma
