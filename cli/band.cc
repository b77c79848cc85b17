#include "cli/band.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/report.h"
#include "cli/typical.h"

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
  const std::vector<double>& x = band.across.values;
  const std::size_t width = x.size();
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
  const double step = (x.back() - x.front()) / static_cast<double>(width - 1);
  for (std::size_t n = 0; n < band.data_x.size(); ++n) {
    const double column = std::round((band.data_x[n] - x.front()) / step);
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
  return picture + across_text(band.across);
}

std::string label_at(const Axis& axis, std::size_t place) {
  const double value = axis.values[place];
  if (!axis.dates) return number_text(value, 3);
  constexpr double short_axis = 4;  // days
  const bool has_times = axis.values.back() - axis.values.front() < short_axis;
  return has_times ? date_text(value).substr(5, 11) : day_text(value);
}

// Numbers label the ends; dates, which are harder to count between, two places more, where their labels are centred.
std::string across_text(const Axis& axis) {
  const std::size_t width = axis.values.size();
  std::string rows;
  for (const double value : axis.values) {
    rows += value >= axis.data_low && value <= axis.data_high ? '=' : ' ';
  }
  const std::size_t labels = axis.dates ? 4 : 2;
  std::string marks(width, ' ');
  for (std::size_t k = 0; k < labels; ++k) {
    const std::size_t place = k * (width - 1) / (labels - 1);
    const std::string label = label_at(axis, place);
    const std::size_t first = k == 0            ? 0
                              : k == labels - 1 ? width - label.size()
                                                : place - label.size() / 2;
    marks.replace(first, label.size(), label);
  }
  return fmt::format("{:>10} +{}\n{:>10}  {}\n", "", rows, "", marks);
}

}  // namespace dma::cli
