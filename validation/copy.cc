// The Gaussian-log-normal copy over its parameters: the paper's two heat maps (App. C), as numbers.
//
// The closed form of Lemma gauss-ln-kl (dma::matched_kl) is compared with quadrature in every cell;
// bands and contours are measured on the quadrature, since the closed form has only one argument.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <dma/messages/lognormal.h>
#include <dma/special/larger.h>
#include <dma/special/normal.h>
#include <dma/special/quadrature.h>

#include "validation/exact_messages.h"
#include "validation/experiment.h"
#include "validation/fit.h"
#include "validation/verdicts.h"

namespace dma::validation {
namespace {

using nlohmann::json;
using Message = Gaussian<double>;

constexpr double coefficient_from = 10;
constexpr double paper_coefficient = 0.75;

// KL(w || its moment-matched Gaussian): over l = log w, where w is Gaussian, plus the Gaussian's
// mass at w < 0, where D(0, q) = q.
double quadrature_kl(const LogNormal<double>& w) {
  const Message matched = to_gaussian(w);
  const auto d = [&](double l) {
    return bregman(w.log.log_density(l), matched.log_density(std::exp(l)) + l);
  };
  // Towards w = 0 the matched density over l only falls like exp(l).
  const auto breaks = merged_breaks(breaks_of(w.log),
                                    special::even_breaks(w.log.mean() - 40, w.log.mean() + 4, 256));
  return integral(d, breaks) + special::normal_cdf(-matched.mean() / matched.stddev());
}

// The spread (max - min) / max within groups of cells, the largest over the groups.
class Spread {
 public:
  void add(int group, double value) {
    auto& [low, high] = groups_.try_emplace(group, value, value).first->second;
    low = std::min(low, value);
    high = special::larger(high, value);
  }

  double largest() const {
    double result = 0;
    for (const auto& [group, range] : groups_) {
      result = special::larger(result, (range.second - range.first) / range.second);
    }
    return result;
  }

 private:
  std::map<int, std::pair<double, double>> groups_;
};

struct Difference {
  double largest = 0;
  void compare(double closed, double quadrature) {
    largest = special::larger(largest, std::abs(closed / quadrature - 1));
  }
};

json cell(const char* step, double mu, double sigma, double r, double closed, double quadrature) {
  return {{"step", step}, {"mu", mu},     {"sigma", sigma},
          {"r", r},       {"kl", closed}, {"kl_quadrature", quadrature}};
}

// Step 1: a log-normal, given by (mu_Y, sigma_Y) in log space, to its Gaussian.
double step_1(json& rows, Difference& difference) {
  Spread along_mu;
  int band = 0;
  for (const double sigma : special::even_breaks(0.05, 1, 19)) {
    for (const double mu : special::even_breaks(-2, 2, 8)) {
      const LogNormal<double> w{Message::from_moments(mu, sigma * sigma)};
      const double closed = matched_kl(w);
      const double quadrature = quadrature_kl(w);
      difference.compare(closed, quadrature);
      along_mu.add(band, quadrature);
      const double r = to_gaussian(w).mean() / to_gaussian(w).stddev();
      rows.push_back(cell("1", mu, sigma, r, closed, quadrature));
    }
    ++band;
  }
  return along_mu.largest();
}

// Step 2: a Gaussian to its log-normal. Both axes in powers of sqrt 2, so that cells share r.
double step_2(json& rows, Difference& difference) {
  Spread along_r;
  for (int i = 0; i <= 8; ++i) {
    for (int j = -2; j <= 8; ++j) {
      const double mu = std::pow(2.0, i / 2.0);
      const double sigma = std::pow(2.0, -j / 2.0);
      const auto w = to_lognormal(Message::from_moments(mu, sigma * sigma));
      const double closed = matched_kl(w);
      const double quadrature = quadrature_kl(w);
      difference.compare(closed, quadrature);
      along_r.add(i + j, quadrature);
      rows.push_back(cell("2", mu, sigma, mu / sigma, closed, quadrature));
    }
  }
  return along_r.largest();
}

// c in r^2 KL = c + d / r^2, and the slope of log KL, for r = 10 to 100.
json fitted_coefficient() {
  std::vector<double> r;
  std::vector<double> kl;
  std::vector<double> inverse_square;
  std::vector<double> scaled;
  for (int k = 0; k <= 20; ++k) {
    const double at = coefficient_from * std::pow(10.0, k / 20.0);
    r.push_back(at);
    kl.push_back(quadrature_kl(to_lognormal(Message::from_moments(1, 1 / (at * at)))));
    inverse_square.push_back(1 / (at * at));
    scaled.push_back(kl.back() * at * at);
  }
  const Line rate = log_log_fit(r, kl);
  return {{"coefficient", line_fit(inverse_square, scaled).intercept},
          {"slope", rate.slope},
          {"slope_interval", interval(rate)}};
}

json constant_verdict(const std::string& along, double spread) {
  return verdict("divergence along " + along, "varies by a share of " + digits(spread, 1),
                 "constant", agrees_if(spread < 1e-9));
}

json copy_verdicts(double coefficient, double along_mu, double along_r) {
  return {verdict("coefficient of 1/r^2", digits(coefficient, 4), "3/4",
                  agrees_if(std::abs(coefficient - paper_coefficient) < 1e-3)),
          constant_verdict("the log-normal's mean", along_mu),
          constant_verdict("equal r", along_r)};
}

}  // namespace

json copy() {
  json rows = json::array();
  Difference difference;
  const double along_mu = step_1(rows, difference);
  const double along_r = step_2(rows, difference);
  json summary = fitted_coefficient();
  summary["paper_coefficient"] = paper_coefficient;
  summary["step_1_spread_along_mu"] = along_mu;
  summary["step_2_spread_along_r"] = along_r;
  summary["closed_form_max_relative_difference"] = difference.largest;
  return {
      {"settings",
       {{"step_1", "mu_Y -2 to 2, sigma_Y 0.05 to 1: parameters of the log-normal in log space"},
        {"step_2", "mu_X 1 to 16, sigma_X 1/16 to 2, in powers of sqrt 2"},
        {"coefficient", "r^2 KL = c + d / r^2 fitted to quadrature for r = 10 to 100"},
        {"spread", "(max - min) / max of kl_quadrature, the largest over the bands or contours"}}},
      {"summary", summary},
      {"verdicts", copy_verdicts(summary["coefficient"], along_mu, along_r)},
      {"rows", rows}};
}

}  // namespace dma::validation
