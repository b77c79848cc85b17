#include "cli/response.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/typical.h"

namespace dma::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t points_of_numbers = 41;
constexpr std::size_t most_whole_points = 12;
constexpr std::size_t most_effects = 20;
constexpr double reach = 2;  // deviations on either side of the mean

// The inputs of the rows that the ledger holds, if it does.
EncodedRows learnt_rows(const Model& model) {
  const auto inputs = model.members.front().belief->learnt_inputs();
  return {.rows = inputs.size() / model.encoder.width(), .inputs = {inputs.begin(), inputs.end()}};
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

  void add_effect(std::size_t category, const Place& place) {
    place.feature.encode_effects(category, add_row(category_text(place.feature, category), place));
  }

  std::size_t width() const { return typical_.size(); }
  void are_few_whole() { response_.few_whole = true; }

 private:
  // Returns the feature's inputs.
  double* add_row(Json x, const Place& place) {
    response_.x.push_back(std::move(x));
    inputs_.insert(inputs_.end(), typical_.begin(), typical_.end());
    return inputs_.data() + inputs_.size() - typical_.size() + place.first;
  }

  const std::vector<double>& typical_;
  std::vector<double>& inputs_;
  Response& response_;
};

// Whether the rows have whole numbers only; a standardised number is one to rounding.
bool is_whole(const Place& place, const EncodedRows& rows, std::size_t width) {
  if (place.feature.kind != ColumnKind::numeric || rows.rows == 0) return false;
  const auto numbers = numbers_of(place, rows, width);
  return std::all_of(numbers.begin(), numbers.end(), [&](double encoded) {
    constexpr double largest = 1e9;
    const double own = place.feature.own(encoded);
    return std::abs(own) < largest && std::abs(own - std::round(own)) < 1e-6;
  });
}

// Dates are whole weeks, or at least whole days, apart, so that weekday and time of day stay the same.
void add_dates(const Place& place, const Range& range, Rows& rows) {
  constexpr double week = 7;
  const double low = place.feature.own(range.low);
  const double high = place.feature.own(range.high);
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
    rows.add(place.feature.own(z), place, 0, z);
  }
}

// Every whole number in the range, if these are few.
bool add_whole_numbers(const Place& place, const Range& range, Rows& rows) {
  const auto first = std::llround(std::ceil(place.feature.own(range.low) - 1e-6));
  const auto last = std::llround(std::floor(place.feature.own(range.high) + 1e-6));
  if (last <= first || last - first >= static_cast<long long>(most_whole_points)) return false;
  for (long long own = first; own <= last; ++own) {
    const double z = (static_cast<double>(own) - place.feature.mean) / place.feature.deviation;
    rows.add(own, place, 0, z);
  }
  rows.are_few_whole();
  return true;
}

void add_categories(const Place& place, Rows& rows) {
  const std::size_t others = place.feature.categories.size();
  for (std::size_t k = 0; k < others; ++k) {
    rows.add(category_text(place.feature, k), place, k, 1);
  }
  if (place.feature.others) {
    rows.add(category_text(place.feature, others), place, others, 1);
  }
}

// The most frequent ones, and any that training did not have.
void add_effects(const Place& place, Rows& rows) {
  const std::size_t values = place.feature.categories.size();
  for (std::size_t k = 0; k < std::min(most_effects, values); ++k) rows.add_effect(k, place);
  rows.add_effect(values, place);
}

// `seen`: rows that tell what the column holds, if there are any.
void add_points(const Model& model, const Place& place, const EncodedRows* data,
                const EncodedRows& seen, Rows& rows) {
  if (place.feature.has_effects()) return add_effects(place, rows);
  if (place.feature.kind == ColumnKind::categorical) return add_categories(place, rows);
  if (!place.feature.has_number()) {  // the only input says whether the cell is empty
    rows.add("(not empty)", place, 0, 0);
    return rows.add("(empty)", place, 0, 1);
  }
  if (place.feature.kind == ColumnKind::boolean) {
    rows.add(cell_text(place.feature, 0), place, 0, 0);
    return rows.add(cell_text(place.feature, 1), place, 0, 1);
  }
  const Range range = seen_range(model, place, data != nullptr ? data : &seen);
  if (is_whole(place, seen, rows.width()) && add_whole_numbers(place, range, rows)) return;
  add_numbers(place, shown_range(range), rows);
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
  const EncodedRows learnt = learnt_rows(model.model());
  const EncodedRows& seen = learnt.rows > 0 ? learnt : data;
  const auto typical = typical_inputs(encoder, rows != nullptr ? &data : &learnt);
  std::vector<Response> all;
  std::vector<double> inputs;
  for (const Place& place : encoder.places()) {
    Response& response =
        all.emplace_back(Response{place.feature.name, place.feature.kind, {}, {}, false});
    Rows building{typical, inputs, response};
    add_points(model.model(), place, rows != nullptr ? &data : nullptr, seen, building);
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

std::vector<double> typical_row(const Regressor& model, const Table* rows) {
  const EncodedRows known =
      rows != nullptr ? model.encoder().encode_inputs(*rows) : learnt_rows(model.model());
  return typical_inputs(model.encoder(), &known);
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
