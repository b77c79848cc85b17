#include "cli/class_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/report.h"

namespace dma::cli {
namespace {

constexpr std::string_view marks = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view shades = " .:-=+*#%@";

char mark_of(std::size_t k) { return marks[k % marks.size()]; }

std::string legend_of(const std::vector<std::string>& classes) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t k = 0; k < std::min(most, classes.size()); ++k) {
    text += fmt::format("{}{} {}", k == 0 ? "" : "   ", mark_of(k), classes[k]);
  }
  return text + (classes.size() > most ? "   ..." : "");
}

std::string line(const std::string& label, const std::string& row) {
  return fmt::format("{:>10} |{}\n", label, row);
}

char mark_at(const Predicted& p) {
  if (p.probabilities.size() == 2) {
    const double place = p.probabilities[1] * static_cast<double>(shades.size());
    return shades[std::min(static_cast<std::size_t>(place), shades.size() - 1)];
  }
  const std::size_t best = p.most_probable();
  return p.probabilities[best] > 0.5 ? mark_of(best) : '.';
}

}  // namespace

std::string draw_curves(const Axis& across, const std::vector<Predicted>& predicted,
                        const std::vector<std::string>& classes, std::size_t height) {
  std::vector<std::string> rows(height, std::string(across.values.size(), ' '));
  for (std::size_t c = 0; c < across.values.size(); ++c) {
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const double place = (1 - predicted[c].probabilities[k]) * static_cast<double>(height - 1);
      rows[static_cast<std::size_t>(std::lround(place))][c] = mark_of(k);
    }
  }
  std::string picture;
  for (std::size_t r = 0; r < height; ++r) {
    const bool labelled = r == 0 || r == height - 1 || 2 * r == height - 1;
    const double share = 1 - static_cast<double>(r) / static_cast<double>(height - 1);
    picture += line(labelled ? fmt::format("{:g}", share) : "", rows[r]);
  }
  return picture + across_text(across) +
         fmt::format("\n{}   = where the rows are\n", legend_of(classes));
}

std::string draw_map(const Axis& across, const Axis& up, const std::vector<Predicted>& predicted,
                     const std::vector<std::string>& classes) {
  const std::size_t width = across.values.size();
  std::string picture;
  for (std::size_t r = up.values.size(); r-- > 0;) {
    std::string row;
    for (std::size_t c = 0; c < width; ++c) row += mark_at(predicted[r * width + c]);
    const bool labelled = r == 0 || r + 1 == up.values.size();
    picture += line(labelled ? label_at(up, r) : "", row);
  }
  const std::string meaning =
      classes.size() == 2
          ? fmt::format("probability of {}: '{}' from 0 to 1", classes[1], shades)
          : fmt::format("most probable: {}   . none has more than a half", legend_of(classes));
  return picture + across_text(across) +
         fmt::format("\n{}   {} across, {} up   = where the rows are\n", meaning, across.name,
                     up.name);
}

}  // namespace dma::cli
