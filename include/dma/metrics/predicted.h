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
// Of an amount, y > 0, the parts say this of log y. Of a count they say it of the log of its rate: the rate is exp(f) g,
// f ~ N(mean, epistemic_std^2), g a Gamma variable of mean 1 and shape s, psi'(s) = noise_std^2, so that, if f is known,
// the count is negative binomial, of mean exp(f) and variance exp(f) + exp(2 f) / s. Up to seven Gauss-Hermite nodes stand
// for f. Where f is wider than two deviations of log g, which the nodes would be too far apart for, a part of its variance
// is folded into g: log g has that much more variance, and the same mean.
//
// Of a class it says the probabilities, and the doubt in them that more rows could remove.
//
// Deviations. What is shown as a deviation is half the distance between the quantiles that a Gaussian has one deviation
// away, 15.9 % and 84.1 %: of a Gaussian its deviation, and of heavy tails, whose variance may be anything, still what most
// values are off by. noise_std is this of the noise around the function, and the square of epistemic_std is what is
// left of the square of the whole. Those of a count, whose values are far apart where it is
// small, are roots of variances.
//
// Bounds. Of a number that lies within bounds, mean, quantiles and intervals are cut there: what the parts say beyond an end
// counts as the end. So an interval holds what it did, and no mean is further from a value. Density, distribution function
// and deviations are those of the parts, uncut.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dma/data/bounds.h>

namespace dma {

// A probability, and the z for which N(0, 1) lies in [-z, z] with it: computed once for many predictions.
struct CentralLevel {
  explicit CentralLevel(double probability);
  double level, quantile;
};

// What a deviation is to be multiplied by if the log of its variance has this spread, at t: see above.
double growth_at(double t, double spread);

// What the parts of a prediction speak of: the value, the log of it, or the log of a count's rate.
enum class Family { number, amount, count };

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

// Of the value, whatever its parts speak of. An amount may have no mean: it is its median. See above for the deviations.
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
  Family family = Family::number;
  Bounds bounds = {};  // of a number

  // Of classes; of equally probable ones the first.
  std::size_t most_probable() const;
  double entropy() const;  // of the probabilities, in nats
  // What more rows could remove of it: the mutual information of class and function.
  double doubt() const;

  double stddev() const;
  // Ends of the central interval that should contain the value with this probability: as much lies below as above. Those of
  // a count are whole numbers and belong to it, so that it may contain more.
  double lower(double level = 0.95) const { return interval(CentralLevel(level)).lower; }
  double upper(double level = 0.95) const { return interval(CentralLevel(level)).upper; }
  Interval interval(const CentralLevel& central) const;
  // The same of the function: a number, the median of an amount, the mean of a count.
  Interval function_interval(const CentralLevel& central) const;
  // The value below which the target lies with this probability; of a count the first that is reached with it.
  double quantile(double probability) const;

  double log_density(double y) const;  // of a count: the log of its probability
  double cdf(double y) const;
  // The probability of the central interval that ends at y; of a count the least of an interval that contains y.
  double central_probability(double y) const;
  // Continuous ranked probability score, in the unit of y; of a count the ranked probability score.
  double crps(double y) const;
};

// The mixture of these parts, whose weights sum to 1. Its mean is that of the mixture, but no part's mean counts as further
// out than the quartiles: a part that runs away does not take the others along. Its deviations are described above. The
// noise's log has the mean and variance of the parts' together.
Predicted mixture_of(std::vector<PredictedPart> parts, Family family = Family::number,
                     const Bounds& bounds = {});

// -p log p, which is 0 at 0.
double entropy_term(double probability);

}  // namespace dma
