#include "regressor/mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <dma/regressor/regressor.h>

#include "belief/calibration.h"

namespace dma::detail {
namespace {

double squared(double value) { return value * value; }

template <class Value>
double mean_over(std::span<const PredictedPart> parts, const Value& value) {
  double sum = 0;
  for (const PredictedPart& part : parts) sum += value(part);
  return sum / static_cast<double>(parts.size());
}

double mean_of_mixture(std::span<const PredictedPart> networks) {
  std::vector<PredictedPart> alone(networks.begin(), networks.end());
  for (PredictedPart& part : alone) part.weight = 1 / static_cast<double>(alone.size());
  return mixture_of(std::move(alone)).mean;
}

}  // namespace

void take_together(std::span<PredictedPart> networks) {
  const auto count = static_cast<double>(networks.size());
  const double mean = mean_over(networks, [](const auto& part) { return part.mean; });
  const double between =
      mean_over(networks, [&](const auto& part) { return squared(part.mean - mean); });
  if (between == 0) return;
  const double own = 1 / mean_over(networks, [](const auto& part) {
                       return 1 / (squared(part.epistemic_std) + squared(part.noise_std));
                     });
  const double q = own * (count - 1) / (2 * count * between);
  const double lambda = std::sqrt(std::max(0.0, 1 - q));
  const double kept = std::sqrt(1 - (count - 1) / (2 * count) * (q < 1 ? q : 1 / q));
  const double centre = mean_of_mixture(networks);
  for (PredictedPart& part : networks) {
    part.mean = centre + lambda * (part.mean - centre);
    part.epistemic_std *= kept;
    part.noise_std *= kept;
  }
}

Predicted in_own_units(Predicted standardised, const TargetColumn& target) {
  if (standardised.family == Family::count) return standardised;
  const auto scale = [&](auto& one) {
    one.mean = target.mean + target.deviation * one.mean;
    one.epistemic_std *= target.deviation;
    one.noise_std *= target.deviation;
  };
  scale(standardised);
  for (PredictedPart& part : standardised.parts) scale(part);
  if (target.kind == TargetKind::amount) {
    return mixture_of(std::move(standardised.parts), Family::amount);
  }
  if (target.bounds.any()) {
    return mixture_of(std::move(standardised.parts), Family::number, target.bounds);
  }
  return standardised;
}

namespace {

// How many networks each shape of a target has. The parts of a prediction are those of its members, in their order.
std::vector<std::size_t> networks_of_shapes(std::span<const Member> members, std::size_t target) {
  std::vector<std::size_t> counts;
  const Member* last = nullptr;
  for (const Member& member : members) {
    if (member.target != target) continue;
    const bool is_alike =
        last != nullptr && last->belief->architecture().has_shape_of(member.belief->architecture());
    if (is_alike) {
      ++counts.back();
    } else {
      counts.push_back(1);
    }
    last = &member;
  }
  return counts;
}

bool is_finite(const Predicted& one) {
  return std::isfinite(one.mean) && std::isfinite(one.epistemic_std) &&
         std::isfinite(one.noise_std) && std::isfinite(one.noise_spread);
}

std::vector<Predicted> mix_classes(std::span<const Prediction> said, std::size_t rows,
                                   std::span<const Member> members) {
  std::vector<Predicted> result(rows, {0, 0, 0});
  for (std::size_t n = 0; n < rows; ++n) {
    for (std::size_t m = 0; m < members.size(); ++m) {
      add_classes(said[m], n, members[m].weight, result[n]);
    }
    if (!std::isfinite(result[n].noise_entropy)) {
      result[n].mean = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return result;
}

}  // namespace

void add_classes(const Prediction& prediction, std::size_t row, double weight, Predicted& mixed) {
  const std::size_t classes = prediction.mean.size() / prediction.entropy.size();
  mixed.probabilities.resize(classes);
  for (std::size_t k = 0; k < classes; ++k) {
    mixed.probabilities[k] += weight * prediction.mean[row * classes + k];
  }
  mixed.noise_entropy += weight * prediction.entropy[row];
}

std::vector<Predicted> mix_members(std::span<const Prediction> said, std::size_t rows,
                                   std::span<const Member> members, const Encoder& encoder,
                                   std::span<const Calibration> calibrations) {
  if (encoder.has_classes()) return mix_classes(said, rows, members);
  const std::vector<TargetColumn>& targets = encoder.targets;
  std::vector<Predicted> result(rows * targets.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Prediction& own = said[m];
    const std::size_t outputs = own.mean.size() / rows;
    for (std::size_t n = 0; n < own.mean.size(); ++n) {
      const std::size_t target = members[m].target + n % outputs;
      PredictedPart part = part_at(own, n, members[m].weight);
      if (!calibrations.empty()) calibrate(calibrations[target], part);
      result[n / outputs * targets.size() + target].parts.push_back(part);
    }
  }
  const Family family = encoder.has_counts() ? Family::count : Family::number;
  for (std::size_t target = 0; target < targets.size(); ++target) {
    std::vector<std::size_t> counts;
    if (!calibrations.empty() && calibrations[target].of_one)
      counts = networks_of_shapes(members, target);
    for (std::size_t n = target; n < result.size(); n += targets.size()) {
      std::size_t first = 0;
      for (const std::size_t count : counts) {
        take_together(std::span(result[n].parts).subspan(first, count));
        first += count;
      }
      result[n] = in_own_units(mixture_of(std::move(result[n].parts), family), targets[target]);
    }
  }
  return result;
}

Mixture::Mixture(const Model& model) {
  for (const Member& member : model.members) members_.push_back(member.belief->predictor());
}

std::vector<Prediction> Mixture::said(std::span<const double> inputs, std::size_t rows,
                                      std::size_t threads) const {
  std::vector<Prediction> all;
  for (const auto& member : members_) all.push_back(member->predict(inputs, rows, threads));
  return all;
}

std::vector<Predicted> Mixture::together(const Model& model, std::span<const Prediction> said,
                                         std::size_t rows) {
  std::vector<Predicted> predicted =
      mix_members(said, rows, model.members, model.encoder, model.calibrations);
  const auto broken = std::find_if_not(predicted.begin(), predicted.end(), is_finite);
  if (broken != predicted.end()) {
    throw NoPrediction(
        static_cast<std::size_t>(broken - predicted.begin()) / model.encoder.targets.size(),
        "the inputs are too large for this model");
  }
  return predicted;
}

std::vector<Predicted> Mixture::predict(const Model& model, std::span<const double> inputs,
                                        std::size_t rows, std::size_t threads) const {
  if (rows == 0) return {};
  return together(model, said(inputs, rows, threads), rows);
}

}  // namespace dma::detail
