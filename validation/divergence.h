// validation/divergence.h: KL divergences by quadrature that keep their digits down to 1e-30.
//
//   KL(p || q) = integral of D(p, q),   D(p, q) = p log(p / q) - p + q >= 0
//
// for p and q of mass 1. The plain integrand p log(p / q) changes sign, and if the divergence is 1e-12 only rounding
// errors are left of it; D is never negative.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

namespace dma::validation {

using LogDensity = std::function<double(double)>;

// D(p, q) from the logarithms of p and q.
double bregman(double log_p, double log_q);

// Ends of panels, ascending: the union of the lists, which overlap or touch.
std::vector<double> merged_breaks(std::vector<double> first, const std::vector<double>& second);

// Gauss-Legendre panels of order 20. Not adaptive: a kink has to be one of the breaks, and no panel
// may be much wider than a standard deviation of the narrowest feature in it.
double integral(const std::function<double(double)>& f, const std::vector<double>& breaks);

// The logarithm of the integral of exp(log_f), which may be out of range itself. std::domain_error if there is nothing
// to integrate.
double log_integral(const LogDensity& log_f, const std::vector<double>& breaks);

// KL(p || q) of p and q restricted to the breaks' range and normalised there.
double kl_divergence(const LogDensity& log_p, const LogDensity& log_q,
                     const std::vector<double>& breaks);

}  // namespace dma::validation
