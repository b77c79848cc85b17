#include "cli/response.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

namespace dma::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t points_of_numbers = 41;
constexpr double reach = 2;  // deviations on either side of the mean

// A feature and where its encoded inputs begin in a row.
struct Place {
  const FeatureColumn& feature;
  std::size_t first;

  bool has_number() const {
    return feature.kind != ColumnKind::categorical && feature.deviation != 0;
  }
  bool has_parts() const { return !feature.parts.empty(); }
  // A standardised number in the unit of the column.
  double own(double z) const { return feature.mean + feature.deviation * z; }
};

std::vector<Place> places_of(const Encoder& encoder) {
  std::vector<Place> places;
  std::size_t first = 0;
  for (const FeatureColumn& feature : encoder.features) {
    places.push_back({feature, first});
    first += feature.width();
  }
  return places;
}

// The encoded numbers of a feature where its cell is not empty.
std::vector<double> numbers_of(const Place& place, const EncodedRows& rows, std::size_t width) {
  std::vector<double> numbers;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    const double* row = rows.inputs.data() + n * width + place.first;
    if (!place.feature.indicator || row[1] == 0) numbers.push_back(row[0]);
  }
  return numbers;
}

// The lower of the two middle values: a boolean's median must be one of its values.
double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

std::size_t most_frequent_category(const Place& place, const EncodedRows& rows, std::size_t width) {
  std::vector<double> counts(place.feature.width());
  for (std::size_t n = 0; n < rows.rows; ++n) {
    for (std::size_t k = 0; k < counts.size(); ++k) {
      counts[k] += rows.inputs[n * width + place.first + k];
    }
  }
  return static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

std::vector<double> typical_of_training(const Encoder& encoder) {
  std::vector<double> row(encoder.width());
  for (const Place& place : places_of(encoder)) {
    if (place.feature.kind == ColumnKind::categorical) row[place.first] = 1;
    if (place.has_parts()) place.feature.encode(place.feature.mean, row.data() + place.first);
    if (place.feature.kind == ColumnKind::boolean && place.has_number()) {
      row[place.first] = place.feature.mean > 0.5 ? 1 : 0;
    }
  }
  return row;
}

std::vector<double> typical_of(const EncodedRows& rows, const Encoder& encoder) {
  std::vector<double> row = typical_of_training(encoder);
  if (rows.rows == 0) return row;
  for (const Place& place : places_of(encoder)) {
    if (place.has_number()) {
      const auto numbers = numbers_of(place, rows, row.size());
      if (numbers.empty()) continue;
      row[place.first] = median(numbers);
      if (place.has_parts()) place.feature.encode(place.own(row[place.first]), &row[place.first]);
    } else if (place.feature.kind == ColumnKind::categorical) {
      row[place.first] = 0;
      row[place.first + most_frequent_category(place, rows, row.size())] = 1;
    }
  }
  return row;
}

struct Range {
  double low, high;
};

// Range of a standardised input, from the model if it knows it, else from the given rows.
Range seen_range(const Model& model, const Place& place, const EncodedRows* rows) {
  const InputRange seen = model.members.front().belief->seen_inputs();
  if (!seen.low.empty()) return {seen.low[place.first], seen.high[place.first]};
  if (rows != nullptr) {
    const auto numbers = numbers_of(place, *rows, model.encoder.width());
    if (!numbers.empty()) {
      const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
      return {*low, *high};
    }
  }
  return {-reach, reach};
}

Range shown_range(const Range& seen) {
  const Range range{std::max(seen.low, -reach), std::min(seen.high, reach)};
  return range.low < range.high ? range : Range{-reach, reach};
}

std::string date_text(double days) {
  const auto seconds = static_cast<std::time_t>(std::llround(days * 86400));
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

// The rows of one response as they are built, each the typical one but for the feature's inputs.
class Rows {
 public:
  Rows(const std::vector<double>& typical_row, std::vector<double>& all_inputs, Response& own)
      : typical_(typical_row), inputs_(all_inputs), response_(own) {}

  void add(Json x, const Place& place, std::size_t input, double value) {
    double* own = add_row(std::move(x), place);
    std::fill_n(own, place.feature.width(), 0.0);
    own[input] = value;
  }

  void add_date(double days, const Place& place) {
    place.feature.encode(days, add_row(date_text(days), place));
  }

 private:
  // Returns the feature's inputs_.
  double* add_row(Json x, const Place& place) {
    response_.x.push_back(std::move(x));
    inputs_.insert(inputs_.end(), typical_.begin(), typical_.end());
    return inputs_.data() + inputs_.size() - typical_.size() + place.first;
  }

  const std::vector<double>& typical_;
  std::vector<double>& inputs_;
  Response& response_;
};

// Dates are whole weeks, or at least whole days, apart, so that weekday and time of day stay the same.
void add_dates(const Place& place, const Range& range, Rows& rows) {
  constexpr double week = 7;
  const double low = place.own(range.low);
  const double high = place.own(range.high);
  double step = (high - low) / (points_of_numbers - 1);
  if (step > 1) step = step > week ? week * std::ceil(step / week) : std::ceil(step);
  for (std::size_t n = 0; n < points_of_numbers; ++n) {
    const double days = low + static_cast<double>(n) * step;
    if (n > 0 && days > high + step / 2) return;
    rows.add_date(days, place);
  }
}

void add_numbers(const Place& place, const Range& range, Rows& rows) {
  if (place.feature.kind == ColumnKind::datetime) return add_dates(place, range, rows);
  for (std::size_t n = 0; n < points_of_numbers; ++n) {
    const double share = static_cast<double>(n) / (points_of_numbers - 1);
    const double z = range.low + (range.high - range.low) * share;
    rows.add(place.own(z), place, 0, z);
  }
}

void add_categories(const Place& place, Rows& rows) {
  const auto& categories = place.feature.categories;
  for (std::size_t k = 0; k < categories.size(); ++k) {
    rows.add(categories[k].empty() ? "(empty)" : categories[k], place, k, 1);
  }
  rows.add("(other)", place, categories.size(), 1);
}

void add_points(const Model& model, const Place& place, const EncodedRows* data, Rows& rows) {
  if (place.feature.kind == ColumnKind::categorical) return add_categories(place, rows);
  if (!place.has_number()) {  // the only input says whether the cell is empty
    rows.add("(not empty)", place, 0, 0);
    return rows.add("(empty)", place, 0, 1);
  }
  if (place.feature.kind == ColumnKind::boolean) {
    rows.add("false", place, 0, 0);
    return rows.add("true", place, 0, 1);
  }
  add_numbers(place, shown_range(seen_range(model, place, data)), rows);
}

// Spread of the response, in deviations of the target that it moves most; of an amount those of its logarithm.
double variation(const Response& response, const Encoder& encoder) {
  const std::size_t targets = encoder.targets.size();
  double most = 0;
  if (encoder.has_classes()) {
    for (std::size_t k = 0; k < encoder.targets.front().classes.size(); ++k) {
      const auto [low, high] = std::ranges::minmax(
          response.predicted, {}, [k](const Predicted& p) { return p.probabilities[k]; });
      most = std::max(most, high.probabilities[k] - low.probabilities[k]);
    }
    return most;
  }
  for (std::size_t k = 0; k < targets; ++k) {
    Range range{HUGE_VAL, -HUGE_VAL};
    for (std::size_t n = k; n < response.predicted.size(); n += targets) {
      const Predicted& p = response.predicted[n];
      const double place = p.family == Family::amount ? std::log(p.mean) : p.mean;
      range.low = std::min(range.low, place);
      range.high = std::max(range.high, place);
    }
    most = std::max(most, (range.high - range.low) / encoder.targets[k].deviation);
  }
  return most;
}

}  // namespace

std::vector<Response> responses(const Regressor& model, const Table* rows) {
  const Encoder& encoder = model.encoder();
  EncodedRows data;
  if (rows != nullptr) data = encoder.encode_inputs(*rows);
  const auto typical = rows != nullptr ? typical_of(data, encoder) : typical_of_training(encoder);
  std::vector<Response> all;
  std::vector<double> inputs;
  for (const Place& place : places_of(encoder)) {
    Response& response = all.emplace_back(Response{place.feature.name, place.feature.kind, {}, {}});
    Rows building{typical, inputs, response};
    add_points(model.model(), place, rows != nullptr ? &data : nullptr, building);
  }
  const auto predicted = model.predict_encoded(inputs, inputs.size() / encoder.width());
  auto next = predicted.begin();
  for (Response& response : all) {
    const auto end = next + static_cast<std::ptrdiff_t>(response.x.size() * encoder.targets.size());
    response.predicted.assign(next, end);
    next = end;
  }
  return all;
}

std::vector<Response> widest(std::vector<Response> all, const Encoder& encoder, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<double> variations;
  for (const Response& response : all) variations.push_back(variation(response, encoder));
  std::vector<std::size_t> places(all.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return variations[a] > variations[b]; });
  places.resize(count);
  std::sort(places.begin(), places.end());
  std::vector<Response> kept;
  for (const std::size_t place : places) kept.push_back(std::move(all[place]));
  return kept;
}

}  // namespace dma::cli
