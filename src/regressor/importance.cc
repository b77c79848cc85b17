// Regressor::column_importance: which columns the function depends on.
//
// Two rows x and z differ in all their columns. Going from z to x, one column after the other in a random order, the
// function changes by
//
//   f(x) - f(z) = sum over the columns of step_j,   so that   1/2 E[(f(x) - f(z)) step_j]   sums to Var f
//
// What a column adds to this sum is its Shapley effect (Goda 2021, "A simple algorithm for global sensitivity analysis with
// Shapley effects", here in its symmetric form): for columns that vary on their own it is the variance that the column
// explains, an interaction counting for its columns in equal parts; of columns that go together each counts by what the
// function takes from it, and one that works against others is below 0. The walks end at rows as they are: with columns drawn
// independently nothing is below 0, but the variance is that of combinations that no row has (of Boston's houses DIS would
// come first, with 21 %, instead of LSTAT and RM).
#include <algorithm>
#include <cmath>
#include <numeric>

#include <dma/base/parallel.h>
#include <dma/likelihood/classes.h>
#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include "base/require.h"

namespace dma {
namespace {

constexpr std::size_t most_pairs = 2000;
constexpr std::size_t least_pairs = 200;
constexpr std::size_t rows_of_all_walks = 60'000;
constexpr double draws_of_a_target = 64;
constexpr double outer_share = 0.05;  // of the draws, below and above the range
constexpr std::uint64_t seed = 1;

// The rows of all walks from one row to another: for every pair one more than there are columns.
struct Walks {
  std::size_t pairs = 0;
  std::vector<std::size_t> columns = {};  // pair by pair, in the order of the walk
  std::vector<double> inputs = {};
};

// One of the rows; with weights by these.
class Chosen {
 public:
  Chosen(std::size_t rows, const std::vector<double>& weights) : rows_(rows) {
    if (weights.size() != rows) return;
    std::partial_sum(weights.begin(), weights.end(), std::back_inserter(sums_));
  }
  std::size_t draw(special::Random& random) const {
    const double place = random.uniform();
    if (sums_.empty()) {
      return std::min(rows_ - 1, static_cast<std::size_t>(place * static_cast<double>(rows_)));
    }
    const auto at = std::upper_bound(sums_.begin(), sums_.end(), place * sums_.back());
    return std::min(rows_ - 1, static_cast<std::size_t>(at - sums_.begin()));
  }

 private:
  std::size_t rows_;
  std::vector<double> sums_;
};

Walks walks_over(std::span<const double> inputs, const std::vector<double>& weights,
                 const Encoder& encoder) {
  const std::vector<Place> places = encoder.places();
  const std::size_t width = encoder.width();
  const Chosen rows(inputs.size() / width, weights);
  Walks walks{std::clamp(rows_of_all_walks / (places.size() + 1), least_pairs, most_pairs)};
  special::Random random(seed);
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t pair = 0; pair < walks.pairs; ++pair) {
    const double* to = inputs.data() + rows.draw(random) * width;
    const double* from = inputs.data() + rows.draw(random) * width;
    for (std::size_t k = order.size(); k > 1; --k) {
      std::swap(order[k - 1],
                order[static_cast<std::size_t>(random.uniform() * static_cast<double>(k))]);
    }
    std::vector<double> now(from, from + width);
    walks.inputs.insert(walks.inputs.end(), now.begin(), now.end());
    for (const std::size_t column : order) {
      const Place& place = places[column];
      std::copy_n(to + place.first, place.feature.width(),
                  now.begin() + static_cast<std::ptrdiff_t>(place.first));
      walks.inputs.insert(walks.inputs.end(), now.begin(), now.end());
      walks.columns.push_back(column);
    }
  }
  return walks;
}

// The shares of the columns in the variance of a function, given by its values at all rows of the walks. A function with
// several outputs varies by the sum over them. All 0 if it does not vary.
std::vector<double> shares_of(const Walks& walks, std::size_t columns,
                              std::span<const double> values) {
  const std::size_t steps = columns + 1;
  const std::size_t outputs = values.size() / (walks.pairs * steps);
  std::vector<double> sums(columns);
  for (std::size_t pair = 0; pair < walks.pairs; ++pair) {
    const auto row = [&](std::size_t step) {
      return values.subspan((pair * steps + step) * outputs, outputs);
    };
    for (std::size_t k = 0; k < outputs; ++k) {
      const double apart = row(columns)[k] - row(0)[k];
      for (std::size_t step = 0; step < columns; ++step) {
        sums[walks.columns[pair * columns + step]] += apart * (row(step + 1)[k] - row(step)[k]);
      }
    }
  }
  const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (double& sum : sums) sum = all > 0 ? sum / all : 0;
  return sums;
}

// One function that the belief considers possible.
struct Draw {
  double weight;
  std::vector<double> shares;
};

// What a member says of one target: functions drawn from it, as the target's own outputs.
struct Said {
  std::vector<Draw> draws;
  std::vector<double> mean;  // of the drawn functions, times the member's weight
};

// Of classes their probabilities; otherwise the outputs of the target, on the scale that the network speaks of.
std::vector<double> of_target(std::span<const double> outputs, std::size_t rows,
                              const Member& member, std::size_t target) {
  const std::size_t width = outputs.size() / rows;
  std::vector<double> values;
  const auto* classes = dynamic_cast<const ClassLikelihood*>(&member.belief->likelihood());
  for (std::size_t n = 0; n < rows; ++n) {
    const auto row = outputs.subspan(n * width, width);
    if (classes == nullptr) {
      values.push_back(row[target - member.target]);
      continue;
    }
    const std::vector<double> probabilities = classes->probabilities(row, row);
    values.insert(values.end(), probabilities.begin(), probabilities.end());
  }
  return values;
}

Said said_by(const Member& member, std::size_t target, const Walks& walks, std::size_t columns) {
  const std::size_t rows = walks.pairs * (columns + 1);
  const auto count = std::max<std::size_t>(
      2, static_cast<std::size_t>(std::ceil(draws_of_a_target * member.weight)));
  const double weight = member.weight / static_cast<double>(count);
  const std::vector<double> functions =
      member.belief->sample_functions(walks.inputs, rows, count, seed);
  const std::size_t size = functions.size() / count;
  Said said;
  for (std::size_t s = 0; s < count; ++s) {
    const std::vector<double> values =
        of_target(std::span(functions).subspan(s * size, size), rows, member, target);
    said.draws.push_back({weight, shares_of(walks, columns, values)});
    said.mean.resize(values.size());
    for (std::size_t n = 0; n < values.size(); ++n) said.mean[n] += weight * values[n];
  }
  return said;
}

bool speaks_of(const Member& member, std::size_t target, const Encoder& encoder) {
  const std::size_t targets = encoder.has_classes() ? 1 : member.belief->outputs();
  return member.target <= target && target < member.target + targets;
}

// The value that this share of the weight lies below.
double quantile(std::vector<std::pair<double, double>> values, double share) {
  std::sort(values.begin(), values.end());
  double below = 0;
  for (const auto& [value, weight] : values) {
    below += weight;
    if (below >= share) return value;
  }
  return values.back().first;
}

std::vector<ColumnShare> shares_of_target(const Model& model, std::size_t target,
                                          const Walks& walks, std::size_t threads) {
  const std::size_t columns = model.encoder.features.size();
  std::vector<const Member*> members;
  for (const Member& member : model.members) {
    if (speaks_of(member, target, model.encoder)) members.push_back(&member);
  }
  std::vector<Said> all(members.size());
  detail::parallel_for(members.size(), threads, [&](std::size_t m) {
    all[m] = said_by(*members[m], target, walks, columns);
  });
  std::vector<double> mean(all.front().mean.size());
  for (const Said& said : all) {
    for (std::size_t n = 0; n < mean.size(); ++n) mean[n] += said.mean[n];
  }
  const std::vector<double> shares = shares_of(walks, columns, mean);
  std::vector<ColumnShare> result;
  for (std::size_t j = 0; j < columns; ++j) {
    std::vector<std::pair<double, double>> drawn;
    for (const Said& said : all) {
      for (const Draw& draw : said.draws) drawn.emplace_back(draw.shares[j], draw.weight);
    }
    result.push_back({model.encoder.features[j].name, shares[j], quantile(drawn, outer_share),
                      quantile(drawn, 1 - outer_share)});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return result;
}

}  // namespace

std::vector<std::vector<ColumnShare>> Regressor::column_importance(const Table* rows,
                                                                   std::size_t threads) const {
  std::vector<double> inputs;
  if (rows != nullptr) {
    inputs = encoder().encode_inputs(*rows).inputs;
  } else {
    const auto learnt = model_.members.front().belief->learnt_inputs();
    inputs.assign(learnt.begin(), learnt.end());
  }
  if (inputs.empty()) return {};
  const Walks walks =
      walks_over(inputs, rows == nullptr ? model_.row_weights : std::vector<double>{}, encoder());
  std::vector<std::vector<ColumnShare>> all;
  for (std::size_t k = 0; k < encoder().targets.size(); ++k) {
    all.push_back(shares_of_target(model_, k, walks, threads));
  }
  return all;
}

}  // namespace dma
