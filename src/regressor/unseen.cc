#include "regressor/unseen.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <dma/special/gamma.h>

namespace dma::detail {
namespace {

// What a column's inputs would be, had the cell one of the values of training.
struct Value {
  std::vector<double> inputs;
  double weight;
};

std::vector<Value> categories_of(const FeatureColumn& feature) {
  const std::size_t named = feature.categories.size();
  const bool has_empty = named > 0 && feature.categories.back().empty();
  const std::size_t count = named - (has_empty ? 1 : 0);
  std::vector<Value> values;
  const auto add = [&](std::size_t slot, double weight) {
    values.push_back({std::vector<double>(feature.width()), weight});
    values.back().inputs[slot] = 1;
  };
  const double share = 1 / static_cast<double>(count + (feature.others ? 1 : 0));
  for (std::size_t slot = 0; slot < count; ++slot) add(slot, share);
  if (feature.others) add(named, share);
  return values;
}

std::vector<Value> values_of(const FeatureColumn& feature) {
  if (feature.kind == ColumnKind::categorical) return categories_of(feature);
  const auto value = [&](double input, double weight) {
    std::vector<double> inputs(feature.width());
    inputs.front() = input;
    return Value{std::move(inputs), weight};
  };
  if (feature.kind == ColumnKind::boolean) {
    return {value(0, 1 - feature.mean), value(1, feature.mean)};
  }
  double reach = std::numbers::sqrt3;
  if (feature.reach > 0) reach = std::clamp(feature.reach, 1.0, reach);
  const double share = 1 / (2 * reach * reach);
  return {value(0, 1 - 2 * share), value(reach, share), value(-reach, share)};
}

// One row with its unseen cells.
struct Row {
  std::size_t row;
  std::span<const UnseenCell> cells;
};

std::vector<Row> rows_of(const std::vector<UnseenCell>& cells) {
  std::vector<Row> rows;
  for (std::size_t first = 0; first < cells.size();) {
    std::size_t end = first;
    while (end < cells.size() && cells[end].row == cells[first].row) ++end;
    rows.push_back({cells[first].row, std::span(cells).subspan(first, end - first)});
    first = end;
  }
  return rows;
}

// Which value each cell has, and how much the combination counts.
struct Variant {
  std::vector<std::size_t> values;
  double weight;
};

std::vector<Variant> all_combinations(std::span<const std::vector<Value>* const> columns) {
  std::vector<Variant> variants{{{}, 1}};
  for (const std::vector<Value>* column : columns) {
    std::vector<Variant> longer;
    for (const Variant& variant : variants) {
      for (std::size_t k = 0; k < column->size(); ++k) {
        longer.push_back(variant);
        longer.back().values.push_back(k);
        longer.back().weight *= (*column)[k].weight;
      }
    }
    variants = std::move(longer);
  }
  return variants;
}

// Spread evenly over all combinations: a lattice whose steps are powers of the root of x^(columns + 1) = x + 1.
std::vector<Variant> some_combinations(std::span<const std::vector<Value>* const> columns) {
  double root = 2;
  for (int step = 0; step < 60; ++step) {
    root = std::pow(1 + root, 1 / static_cast<double>(columns.size() + 1));
  }
  std::vector<Variant> variants(most_variants, {{}, 1.0 / most_variants});
  double step = 1;
  for (const std::vector<Value>* column : columns) {
    step /= root;
    for (std::size_t n = 0; n < most_variants; ++n) {
      const double along = columns.size() == 1
                               ? (static_cast<double>(n) + 0.5) / most_variants
                               : std::fmod(0.5 + static_cast<double>(n + 1) * step, 1.0);
      double sum = 0;
      std::size_t k = 0;
      while (k + 1 < column->size() && (sum += (*column)[k].weight) < along) ++k;
      variants[n].values.push_back(k);
    }
  }
  return variants;
}

// The target's own distribution, as a part; no more of it is noise than of the others.
PredictedPart own_part(const TargetColumn& target, double noise, double weight) {
  if (target.kind == TargetKind::count) {
    const double over =
        (target.deviation * target.deviation - target.mean) / (target.mean * target.mean);
    constexpr double least_over = 1e-6;
    return {std::log(target.mean), 0, std::sqrt(special::trigamma(1 / std::max(over, least_over))),
            0, weight};
  }
  const double own = std::min(noise, target.deviation);
  return {target.mean, std::sqrt(target.deviation * target.deviation - own * own), own, 0, weight};
}

// Draws the parts together around their mean, until they are as certain as the target's own distribution.
void limit(const TargetColumn& target, std::vector<PredictedPart>& parts) {
  const Predicted mixture = mixture_of(parts);
  const CentralLevel level(0.95);
  const Interval interval = mixture.interval(level);
  const double most = target.deviation;
  const double kept = std::min({1.0, most / mixture.stddev(),
                                2 * level.quantile * most / (interval.upper - interval.lower)});
  if (kept == 1) return;
  for (PredictedPart& part : parts) {
    part.mean = mixture.mean + kept * (part.mean - mixture.mean);
    part.epistemic_std *= kept;
    part.noise_std *= kept;
  }
}

Predicted of_numbers(const TargetColumn& target, std::vector<PredictedPart> parts, double is_new) {
  const Family family = target.kind == TargetKind::amount  ? Family::amount
                        : target.kind == TargetKind::count ? Family::count
                                                           : Family::number;
  const double noise = is_new > 0 ? mixture_of(parts).noise_std : 0;
  for (PredictedPart& part : parts) part.weight *= 1 - is_new;
  if (is_new > 0) parts.push_back(own_part(target, noise, is_new));
  if (family != Family::count) {
    limit(target, parts);
    return mixture_of(std::move(parts), family, target.bounds);
  }
  Predicted mixed = mixture_of(std::move(parts), family);
  Predicted own = mixture_of({own_part(target, 0, 1)}, family);
  return mixed.stddev() > own.stddev() ? own : mixed;
}

Predicted of_classes(const TargetColumn& target, Predicted mixed, double is_new) {
  const double rows = std::accumulate(target.class_rows.begin(), target.class_rows.end(), 0.0);
  for (std::size_t k = 0; k < mixed.probabilities.size(); ++k) {
    const double own = static_cast<double>(target.class_rows[k]) / rows;
    mixed.probabilities[k] += is_new * (own - mixed.probabilities[k]);
  }
  return mixed;
}

class Unseen {
 public:
  Unseen(const Encoder& encoder, const EncodedRows& rows)
      : encoder_(encoder), rows_(rows), width_(encoder.width()), places_(encoder.places()) {
    values_.resize(encoder.features.size());
    for (const UnseenCell& cell : rows.unseen) {
      std::vector<Value>& values = values_[cell.feature];
      if (values.empty()) values = values_of(encoder.features[cell.feature]);
    }
  }

  std::vector<Variant> variants(const Row& row) const {
    std::vector<const std::vector<Value>*> columns;
    double count = 1;
    for (const UnseenCell& cell : row.cells) {
      columns.push_back(&values_[cell.feature]);
      count *= static_cast<double>(columns.back()->size());
    }
    return count <= most_variants ? all_combinations(columns) : some_combinations(columns);
  }

  // The row's inputs with the values of a variant.
  void append(const Row& row, const Variant& variant, std::vector<double>& inputs) const {
    const auto begin = rows_.inputs.begin() + static_cast<std::ptrdiff_t>(row.row * width_);
    inputs.insert(inputs.end(), begin, begin + static_cast<std::ptrdiff_t>(width_));
    double* own = inputs.data() + inputs.size() - width_;
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const std::size_t feature = row.cells[c].feature;
      const Value& value = values_[feature][variant.values[c]];
      std::copy(value.inputs.begin(), value.inputs.end(), own + places_[feature].first);
    }
  }

  // The probability that a value of the row is like none of training.
  double is_new(const Row& row) const {
    double like_known = 1;
    for (const UnseenCell& cell : row.cells) {
      if (cell.empty) continue;
      const auto known = static_cast<double>(values_[cell.feature].size());
      like_known *= known / (known + 1);
    }
    return 1 - like_known;
  }

  // `said` holds the predictions of the variants: variants x targets.
  void mix(const Row& row, const std::vector<Variant>& variants, std::span<const Predicted> said,
           std::span<Predicted> mixed) const {
    const std::size_t targets = encoder_.targets.size();
    for (std::size_t k = 0; k < targets; ++k) {
      const TargetColumn& target = encoder_.targets[k];
      Predicted sum{0, 0, 0};
      for (std::size_t v = 0; v < variants.size(); ++v) {
        add(said[v * targets + k], variants[v].weight, sum);
      }
      mixed[k] = encoder_.has_classes() ? of_classes(target, std::move(sum), is_new(row))
                                        : of_numbers(target, std::move(sum.parts), is_new(row));
    }
  }

 private:
  static void add(const Predicted& one, double weight, Predicted& sum) {
    for (PredictedPart part : one.parts) {
      part.weight *= weight;
      sum.parts.push_back(part);
    }
    sum.probabilities.resize(one.probabilities.size());
    for (std::size_t k = 0; k < one.probabilities.size(); ++k) {
      sum.probabilities[k] += weight * one.probabilities[k];
    }
    sum.noise_entropy += weight * one.noise_entropy;
  }

  const Encoder& encoder_;
  const EncodedRows& rows_;
  std::size_t width_;
  std::vector<Place> places_;
  std::vector<std::vector<Value>> values_;  // by feature, of those with unseen cells
};

}  // namespace

void predict_unseen(const Encoder& encoder, const EncodedRows& rows, const PredictRows& predict,
                    std::vector<Predicted>& predicted) {
  constexpr std::size_t rows_at_once = 128;
  const Unseen unseen(encoder, rows);
  const std::vector<Row> all = rows_of(rows.unseen);
  const std::size_t targets = encoder.targets.size();
  for (std::size_t first = 0; first < all.size(); first += rows_at_once) {
    const std::size_t end = std::min(all.size(), first + rows_at_once);
    std::vector<std::vector<Variant>> variants;
    std::vector<double> inputs;
    std::size_t count = 0;
    for (std::size_t n = first; n < end; ++n) {
      variants.push_back(unseen.variants(all[n]));
      for (const Variant& variant : variants.back()) unseen.append(all[n], variant, inputs);
      count += variants.back().size();
    }
    const std::vector<Predicted> said = predict(inputs, count);
    std::size_t place = 0;
    for (std::size_t n = first; n < end; ++n) {
      const std::vector<Variant>& own = variants[n - first];
      unseen.mix(all[n], own, std::span(said).subspan(place * targets, own.size() * targets),
                 std::span(predicted).subspan(all[n].row * targets, targets));
      place += own.size();
    }
  }
}

}  // namespace dma::detail
