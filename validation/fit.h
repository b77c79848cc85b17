// validation/fit.h: least-squares lines, for rates read off as slopes in a log-log plot.
#pragma once

#include <span>

#include <nlohmann/json.hpp>

namespace dma::validation {

struct Line {
  double slope = 0;
  double intercept = 0;
  double half_width = 0;  // of the slope's 95% confidence interval, Student's t with n - 2
};

// Fits a line to at least three points.
Line line_fit(std::span<const double> x, std::span<const double> y);

// log y against log x, x and y positive.
Line log_log_fit(std::span<const double> x, std::span<const double> y);

// {slope - half_width, slope + half_width}
nlohmann::json interval(const Line& line);

}  // namespace dma::validation
