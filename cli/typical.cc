#include "cli/typical.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "cli/report.h"

namespace dma::cli {

std::vector<double> numbers_of(const Place& place, const EncodedRows& rows, std::size_t width) {
  std::vector<double> numbers;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    const double* row = rows.inputs.data() + n * width + place.first;
    if (!place.feature.indicator || row[1] == 0) numbers.push_back(row[0]);
  }
  return numbers;
}

namespace {

// The lower of the two middle values: a boolean's median must be one of its values.
double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

std::size_t most_frequent_category(const Place& place, const EncodedRows& rows, std::size_t width) {
  // What nothing was learnt of is not typical.
  std::vector<double> counts(place.feature.width() - (place.feature.others ? 0 : 1));
  for (std::size_t n = 0; n < rows.rows; ++n) {
    for (std::size_t k = 0; k < counts.size(); ++k) {
      counts[k] += rows.inputs[n * width + place.first + k];
    }
  }
  return static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

std::vector<double> typical_of_training(const Encoder& encoder) {
  std::vector<double> row(encoder.width());
  for (const Place& place : encoder.places()) {
    if (place.feature.has_effects()) {
      place.feature.encode_effects(0, row.data() + place.first);  // of the most frequent
    } else if (place.feature.kind == ColumnKind::categorical) {
      row[place.first] = 1;
    }
    if (!place.feature.parts.empty())
      place.feature.encode(place.feature.mean, row.data() + place.first);
    if (place.feature.kind == ColumnKind::boolean && place.feature.has_number()) {
      row[place.first] = place.feature.mean > 0.5 ? 1 : 0;
    }
  }
  return row;
}

std::string cells_text(const Place& place, const std::vector<double>& inputs) {
  const double* own = inputs.data() + place.first;
  if (place.feature.has_effects()) return category_text(place.feature, 0);
  if (place.feature.kind == ColumnKind::categorical) {
    const double* end = own + place.feature.width();
    return category_text(place.feature, static_cast<std::size_t>(std::max_element(own, end) - own));
  }
  const bool empty = place.feature.indicator && own[place.feature.has_number() ? 1 : 0] == 1;
  if (empty) return "(empty)";
  return place.feature.has_number() ? cell_text(place.feature, *own) : "(not empty)";
}

}  // namespace

std::vector<double> typical_inputs(const Encoder& encoder, const EncodedRows* rows) {
  std::vector<double> row = typical_of_training(encoder);
  if (rows == nullptr || rows->rows == 0) return row;
  for (const Place& place : encoder.places()) {
    if (place.feature.has_number()) {
      const auto numbers = numbers_of(place, *rows, row.size());
      if (numbers.empty()) continue;
      row[place.first] = median(numbers);
      if (!place.feature.parts.empty())
        place.feature.encode(place.feature.own(row[place.first]), &row[place.first]);
    } else if (place.feature.kind == ColumnKind::categorical && !place.feature.has_effects()) {
      row[place.first] = 0;
      row[place.first + most_frequent_category(place, *rows, row.size())] = 1;
    }
  }
  return row;
}

std::string date_text(double days) {
  const auto seconds = static_cast<std::time_t>(std::llround(days * 86400));
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

std::string day_text(double days) { return date_text(days).substr(0, 10); }

std::string cell_text(const FeatureColumn& feature, double encoded) {
  if (feature.kind == ColumnKind::boolean) {
    if (feature.categories.size() == 2) return feature.categories[encoded > 0.5 ? 1 : 0];
    return encoded > 0.5 ? "true" : "false";
  }
  const double own = feature.own(encoded);
  if (feature.kind != ColumnKind::datetime) return number_text(own);
  return date_text(own).ends_with("T00:00:00Z") ? day_text(own) : date_text(own);
}

std::string category_text(const FeatureColumn& feature, std::size_t category) {
  if (category >= feature.categories.size()) return feature.has_effects() ? "(new)" : "(other)";
  return feature.categories[category].empty() ? "(empty)" : feature.categories[category];
}

std::string row_text(const Encoder& encoder, const std::vector<double>& inputs,
                     const std::vector<std::string>& without) {
  constexpr std::size_t most = 8;
  std::string text;
  std::size_t count = 0;
  for (const Place& place : encoder.places()) {
    const std::string& name = place.feature.name;
    if (std::find(without.begin(), without.end(), name) != without.end()) continue;
    if (++count > most) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, cells_text(place, inputs));
  }
  if (count > most) text += fmt::format(", and {} more", count - most);
  return text;
}

}  // namespace dma::cli
