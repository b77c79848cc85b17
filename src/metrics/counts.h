// metrics/counts.h: the prediction of a count, a mixture of negative binomials.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <dma/metrics/predicted.h>

namespace dma::detail {

// A mixture of counts of mean mu and variance mu + mu^2 / shape, which differ in their means.
struct CountPart {
  static constexpr std::size_t most_nodes = 7;

  double weight, shape;
  std::size_t nodes = 1;
  std::array<double, most_nodes> share{1}, mean{};
};

// Of a part that speaks of the log of a rate: see metrics/predicted.h.
CountPart count_part(const PredictedPart& part);

double log_probability(const CountPart& part, double count);
// Of at most so many; none are negative.
double cdf(const CountPart& part, double count);
// The first count that is reached with this probability.
double quantile(const CountPart& part, double probability);

class CountMixture {
 public:
  explicit CountMixture(const Predicted& predicted);

  double log_probability(double count) const;
  double cdf(double count) const;
  double quantile(double probability) const;
  // Ranked probability score: sum over n of (F(n) - 1[count <= n])^2.
  double ranked_score(double count) const;

 private:
  std::vector<CountPart> parts_;
};

// Its mean and deviations; no part's log of a rate counts as further out than these ends.
void set_count_moments(const Interval& range, Predicted& mixture);

}  // namespace dma::detail
