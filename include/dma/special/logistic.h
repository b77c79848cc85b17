// special/logistic.h: the logistic function under a Gaussian.
#pragma once

namespace dma::special {

// Of Z(m) = E[1 / (1 + exp(-x))], x ~ N(m, v), v >= 0: log Z, g = d log Z / dm and k = -d^2 log Z / dm^2.
//
// A logistic variable is a Gaussian one whose deviation is 2 K, K of Kolmogorov's distribution (Andrews and Mallows 1974),
// so that with c^2 = 4 K^2 + v
//
//   Z = E[Phi(m / c)],   dZ / dm = E[phi(m / c) / c],   d^2 Z / dm^2 = -m E[phi(m / c) / c^3]
//
// which quadrature over K gives for every m and v. log Z and g are exact to 1e-11 (accuracy.h), k to as much of 1 / 4.
struct ExpectedLogistic {
  double log, slope, curvature;
};
ExpectedLogistic expected_logistic(double mean, double variance);

// Z alone, to 1e-5 of it (accuracy.h), in a fraction of the time.
double quick_expected_logistic(double mean, double variance);

}  // namespace dma::special
