// metrics/predicted.h: the prediction of one value.
//
// A part of it says
//
//   y ~ N(mean, v + s),   log s = log noise_std^2 + noise_spread t - noise_spread^2 / 2,   t ~ N(0, 1)
//                         log v the same of epistemic_std and epistemic_spread, with the same t
//
// so that E[v + s] = stddev()^2: the variances are themselves uncertain. Nine Gauss-Hermite nodes represent t: a mixture
// of nine Gaussians around one mean, whose tails are heavier than a Gaussian's. Without spread it is N(mean, stddev()^2).
//
// A prediction is one part, or a mixture of several with weights: density, quantiles and scores are those of the mixture.
//
// Of a class it says the probabilities, and the doubt in them that more rows could remove.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dma {

// A probability, and the z for which N(0, 1) lies in [-z, z] with it: computed once for many predictions.
struct CentralLevel {
  explicit CentralLevel(double probability);
  double level, quantile;
};

// What a deviation is to be multiplied by if the log of its variance has this spread, at t: see above.
double growth_at(double t, double spread);

struct PredictedPart {
  double mean;
  double epistemic_std;     // of the function; more data could remove it
  double noise_std;         // of an observation around it
  double noise_spread = 0;  // of the log of the noise variance
  double weight = 1;
  double epistemic_spread = 0;  // of the log of the function's variance
};

struct Interval {
  double lower, upper;
};

struct Predicted {
  double mean;
  double epistemic_std;
  double noise_std;
  double noise_spread = 0;
  std::vector<PredictedPart> parts = {};  // empty: it is one part, with the numbers above
  // Of a class, whose numbers above mean nothing: the probability of each, and the entropy that they would have in
  // expectation if the function were known.
  std::vector<double> probabilities = {};
  double noise_entropy = 0;  // nats

  // Of classes; of equally probable ones the first.
  std::size_t most_probable() const;
  double entropy() const;  // of the probabilities, in nats
  // What more rows could remove of it: the mutual information of class and function.
  double doubt() const;

  double stddev() const;
  // Ends of the central interval that should contain the value with this probability: as much lies below as above.
  double lower(double level = 0.95) const { return interval(CentralLevel(level)).lower; }
  double upper(double level = 0.95) const { return interval(CentralLevel(level)).upper; }
  Interval interval(const CentralLevel& central) const;
  // The value below which the target lies with this probability.
  double quantile(double probability) const;

  double log_density(double y) const;
  double cdf(double y) const;
  // The probability of the central interval that ends at y.
  double central_probability(double y) const;
  // Continuous ranked probability score, in the unit of y.
  double crps(double y) const;
};

// The mixture of these parts, whose weights sum to 1. Its mean and deviations are those of the mixture, but no part's mean
// counts as further out than the quartiles: a part that runs away does not take the others along. The noise's log has the
// mean and variance of the parts' together.
Predicted mixture_of(std::vector<PredictedPart> parts);

// -p log p, which is 0 at 0.
double entropy_term(double probability);

}  // namespace dma
