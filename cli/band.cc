#include "cli/band.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/report.h"

namespace dma::cli {
namespace {

struct Frame {
  double low, high;
  std::size_t height;

  // Row 0 is the top one; -1 if outside.
  int row(double y) const {
    const double place = (high - y) / (high - low) * static_cast<double>(height - 1);
    const double rounded = std::round(place);
    return rounded < 0 || rounded > static_cast<double>(height - 1) ? -1
                                                                    : static_cast<int>(rounded);
  }
};

// Two deviations to either side; of what is not symmetric, as much.
Interval range_of(const Predicted& p) {
  static const CentralLevel two_deviations(0.9545);
  if (p.family != Family::number) return p.interval(two_deviations);
  return {p.mean - 2 * p.stddev(), p.mean + 2 * p.stddev()};
}

Frame frame_of(const Band& band, std::size_t height) {
  Frame frame{band.predicted.front().mean, band.predicted.front().mean, height};
  const auto include = [&](double y) {
    frame.low = std::min(frame.low, y);
    frame.high = std::max(frame.high, y);
  };
  for (const Predicted& p : band.predicted) {
    const Interval range = range_of(p);
    include(range.lower);
    include(range.upper);
  }
  for (const double y : band.data_y) include(y);
  return frame;
}

}  // namespace

std::string draw(const Band& band, std::size_t height) {
  const Frame frame = frame_of(band, height);
  const std::size_t width = band.x.size();
  std::vector<std::string> rows(height, std::string(width, ' '));
  const auto put = [&](std::size_t column, int row, char mark) {
    if (row >= 0) rows[static_cast<std::size_t>(row)][column] = mark;
  };
  for (std::size_t c = 0; c < width; ++c) {
    const Predicted& p = band.predicted[c];
    const Interval range = range_of(p);
    const int top = frame.row(range.upper);
    const int bottom = frame.row(range.lower);
    for (int row = top; row <= bottom; ++row) put(c, row, ':');
  }
  const double step = (band.x.back() - band.x.front()) / static_cast<double>(width - 1);
  for (std::size_t n = 0; n < band.data_x.size(); ++n) {
    const double column = std::round((band.data_x[n] - band.x.front()) / step);
    if (column < 0 || column > static_cast<double>(width - 1)) continue;
    put(static_cast<std::size_t>(column), frame.row(band.data_y[n]), 'o');
  }
  for (std::size_t c = 0; c < width; ++c) put(c, frame.row(band.predicted[c].mean), '-');

  std::string picture;
  for (std::size_t r = 0; r < height; ++r) {
    const bool labelled = r == 0 || r == height - 1 || r == height / 2;
    const double y = frame.high - (frame.high - frame.low) * static_cast<double>(r) /
                                      static_cast<double>(height - 1);
    picture += fmt::format("{:>10} |{}\n", labelled ? number_text(y, 3) : "", rows[r]);
  }
  return picture + across_text(band.x, band.data_low, band.data_high);
}

std::string across_text(const std::vector<double>& values, double data_low, double data_high) {
  std::string rows;
  for (const double value : values) rows += value >= data_low && value <= data_high ? '=' : ' ';
  const std::string left = number_text(values.front(), 3);
  return fmt::format("{:>10} +{}\n{:>10}  {}{:>{}}\n", "", rows, "", left,
                     number_text(values.back(), 3), values.size() - left.size());
}

}  // namespace dma::cli
