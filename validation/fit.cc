#include "validation/fit.h"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace dma::validation {
namespace {

std::vector<double> logs(std::span<const double> values) {
  std::vector<double> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [](double value) { return std::log(value); });
  return result;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Line line_fit(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 3) throw std::invalid_argument("a line with an interval needs three points");
  const double x_mean = mean_of(x);
  const double y_mean = mean_of(y);
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  const double slope = xy / xx;
  const double intercept = y_mean - slope * x_mean;
  double residual = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = y[i] - intercept - slope * x[i];
    residual += error * error;
  }
  const auto freedom = static_cast<double>(x.size() - 2);
  const double quantile = boost::math::quantile(boost::math::students_t(freedom), 0.975);
  return {slope, intercept, quantile * std::sqrt(residual / freedom / xx)};
}

Line log_log_fit(std::span<const double> x, std::span<const double> y) {
  return line_fit(logs(x), logs(y));
}

nlohmann::json interval(const Line& line) {
  return {line.slope - line.half_width, line.slope + line.half_width};
}

}  // namespace dma::validation
