#include "regressor/kind.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <dma/special/random.h>

#include "regressor/fit.h"

namespace dma::detail {
namespace {

// A deviation in units of the mean: with less, logarithms are nearly straight.
constexpr double least_variation = 0.3;
constexpr std::size_t most_trial_rows = 1000;
constexpr std::size_t least_trial_rows = 20;
constexpr std::size_t trial_units = 5, trial_networks = 3, trial_epochs = 36;
// Nats per row. A small network gains more by the logarithm than the mixture that will be fitted.
constexpr double least_gain = 0.05;

bool could_be_amount(const Column& column) {
  if (column.is_text) return false;
  double count = 0;
  double mean = 0;
  double squares = 0;
  for (const double x : column.numbers) {
    if (std::isnan(x)) continue;
    if (!(x > 0 && x <= 1e100)) return false;
    ++count;
    const double before = mean;
    mean += (x - mean) / count;
    squares += (x - before) * (x - mean);
  }
  return count >= least_trial_rows && std::sqrt(squares / count) >= least_variation * mean;
}

// Random ones, if there are many.
Table some_rows(const Table& table, std::uint64_t seed) {
  if (table.rows() <= most_trial_rows) return table;
  std::vector<std::size_t> rows(table.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  special::Random random(seed);
  for (std::size_t k = 0; k < most_trial_rows; ++k) {
    const auto left = static_cast<double>(rows.size() - k);
    std::swap(rows[k], rows[k + static_cast<std::size_t>(random.uniform() * left)]);
  }
  rows.resize(most_trial_rows);
  std::sort(rows.begin(), rows.end());
  return select_rows(table, rows);
}

double held_out_nll(const Table& table, const RegressorOptions& asked, TargetKind kind) {
  const RegressorOptions options{.target = asked.target,
                                 .kind = kind,
                                 .weight = asked.weight,
                                 .features = asked.features,
                                 .drop = asked.drop,
                                 .categorical = asked.categorical,
                                 .keep_ids = asked.keep_ids,
                                 .bounds = Bounds{},  // an amount has none either
                                 .hidden = {trial_units},
                                 .belief = BeliefKind::joint,
                                 .epochs = trial_epochs,
                                 .ensemble = trial_networks,
                                 .seed = asked.seed,
                                 .threads = asked.threads};
  return Regressor::fit(table, options).report().cavity_nll();
}

std::string two_digits(double number) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f", number);
  return text.data();
}

}  // namespace

ChosenKind choose_kind(const Table& table, const RegressorOptions& options) {
  const Column* column = table.find(options.target.front());
  if (options.target.size() != 1 || column == nullptr || !could_be_amount(*column)) return {};
  const Table rows = some_rows(table, options.seed);
  const double as_number = held_out_nll(rows, options, TargetKind::number);
  const double as_amount = held_out_nll(rows, options, TargetKind::amount);
  if (!(as_amount < as_number - least_gain)) return {};
  return {TargetKind::amount, "held-out NLL of a small network " + two_digits(as_amount) +
                                  ", as a number " + two_digits(as_number)};
}

}  // namespace dma::detail
