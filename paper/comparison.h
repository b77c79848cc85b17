// paper/comparison.h: the scores of several methods on several sets, side by side.
#pragma once

#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "paper/sets.h"

namespace dma::cli {

// Mean over splits and its standard error; NaN: not known.
struct Figure {
  double mean = 0, error = std::numeric_limits<double>::quiet_NaN();
};

// What is known of a method on one set.
struct SetFigures {
  std::size_t splits = 0;
  std::optional<Figure> ll = {}, rmse = {}, crps = {}, cavity_ll = {}, seconds = {};
  std::optional<std::array<double, 4>> coverage = {};  // at Metrics::levels
  // Of classes, whose ll is minus the log loss; the calibration error is of all splits together, since the test rows of
  // one are often few.
  std::optional<Figure> brier = {}, accuracy = {}, balanced_accuracy = {}, auc = {};
  std::optional<double> calibration_error = {};
};

struct Method {
  std::string name;
  std::map<std::string, SetFigures> sets;  // by name
};

SetFigures summarise(const std::vector<SplitScore>& scores);

// The rivals' published figures on these sets; none of a rival without any.
std::vector<Method> published_methods(const std::vector<BenchmarkSet>& sets);

// From a file of `dma benchmark --json` or bench/rivals.py: {"sets": [...]}, a method named after the file, or
// {"settings": {NAME: {"sets": [...]}, ...}}. Throws BadInput.
std::vector<Method> read_methods(const std::filesystem::path& file);

// Mean place in log-likelihood, to the two decimals that are published, over the sets that every method has it of.
// Methods without any are left out.
struct Ranks {
  struct Place {
    std::string name;
    double mean;
  };
  std::size_t sets = 0;
  std::vector<Place> methods = {};
};
Ranks average_ranks(const std::vector<std::string>& sets, const std::vector<Method>& methods);

void print(const std::vector<std::string>& sets, const std::vector<Method>& methods);

nlohmann::ordered_json to_json(const std::string& set, const SetFigures& figures);

}  // namespace dma::cli
