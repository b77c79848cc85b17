#include "likelihood/noise.h"

#include <algorithm>
#include <cmath>

namespace dma::detail {
namespace {

constexpr double shortest_stretch = 256;
constexpr double longest_stretch = 65'536;

}  // namespace

double most_likely_noise(std::span<const Miss> misses) {
  double scale = 0;
  double rows = 0;
  for (const Miss& miss : misses) {
    scale += miss.weight * (miss.square + miss.variance);
    rows += miss.weight;
  }
  scale /= rows;
  if (!(scale > 0)) return 0;
  const auto loss = [&](double log_noise) {
    const double noise = std::exp(log_noise);
    LogSum logs;
    double squares = 0;
    for (const Miss& miss : misses) {
      const double total = miss.variance + noise;
      logs.add(total, miss.weight);
      squares += miss.weight * miss.square / total;
    }
    return logs.value() + squares;
  };
  // The loss can have more than one valley: look at a grid first, then narrow down by thirds.
  constexpr int grid = 48;
  const double low = std::log(1e-8 * scale);
  const double step = (std::log(4 * scale) - low) / grid;
  int best = 0;
  double best_loss = loss(low);
  for (int k = 1; k <= grid; ++k) {
    const double here = loss(low + step * k);
    if (here < best_loss) {
      best = k;
      best_loss = here;
    }
  }
  double left = low + step * std::max(best - 1, 0);
  double right = low + step * std::min(best + 1, grid);
  while (right - left > 1e-4) {
    const double third = (right - left) / 3;
    if (loss(left + third) < loss(right - third)) {
      right -= third;
    } else {
      left += third;
    }
  }
  return std::exp((left + right) / 2);
}

RunningNoise::RunningNoise(double start) : noise_(start), stretch_(shortest_stretch) {}

bool RunningNoise::add(Miss miss) {
  const double total = miss.variance + noise_;
  const double weight = miss.weight / (total * total);
  now_.misses += weight * (miss.square - miss.variance);
  now_.weights += weight;
  now_.scale += miss.weight * (miss.square + miss.variance);
  now_.rows += miss.weight;
  rows_ += miss.weight;
  if (now_.rows < stretch_) return false;
  noise_ = estimate(now_);
  before_ = now_;
  now_ = {};
  stretch_ = std::clamp(std::floor(rows_ / 2), shortest_stretch, longest_stretch);
  return true;
}

void RunningNoise::finish() {
  now_ = {now_.misses + before_.misses, now_.weights + before_.weights, now_.scale + before_.scale,
          now_.rows + before_.rows};
  if (now_.rows > 0) noise_ = estimate(now_);
  before_ = now_;
  now_ = {};
}

// Never below the end that most_likely_noise has.
double RunningNoise::estimate(const Sums& sums) const {
  const double mean = sums.misses / sums.weights;
  const double least = 1e-8 * sums.scale / sums.rows;
  return std::max({mean, noise_ / 2, least});
}

}  // namespace dma::detail
