#include "regressor/effects.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "layers/block.h"

namespace dma::detail {
namespace {

// ------------------------------------------------------------------------------ the most likely ratio

// y = mean + sum of a_j x_j + noise with a_j ~ N(0, noise / ratio), for x_j that are orthogonal. Weighted sums over rows.
struct Sums {
  Vector of_squares;   // x_j^2
  Vector with_target;  // x_j y
  Vector with_one;     // x_j
  double target_square = 0, target = 0, weight = 0;
};

struct Likely {
  double mean, variance;  // of the noise
  double log_likelihood;
  double slope;  // of it, by the logarithm of the ratio
};

Likely likely_at(double ratio, const Sums& sums) {
  const Vector shrunk = (sums.of_squares.array() + ratio).inverse();
  const auto without = [&](double all, const Vector& one, const Vector& other) {
    return all - one.cwiseProduct(shrunk).dot(other);
  };
  const double across = without(sums.target, sums.with_target, sums.with_one);
  const double mean = across / without(sums.weight, sums.with_one, sums.with_one);
  const double square = without(sums.target_square, sums.with_target, sums.with_target);
  const double variance = (square - mean * across) / sums.weight;
  const double spread = (sums.of_squares.array() / ratio).log1p().sum();
  // a_j, and how many of them the rows determine.
  const Vector known = shrunk.cwiseProduct(sums.with_target - mean * sums.with_one);
  const double determined = shrunk.dot(sums.of_squares);
  return {mean, variance, -(spread + sums.weight * std::log(variance)) / 2,
          (determined - ratio * known.squaredNorm() / variance) / 2};
}

// Where x_j make no difference.
constexpr double none = HUGE_VAL;

// Between e^-14 and e^16, where the noise or the x_j hardly count; or none.
double most_likely_ratio(const Sums& sums) {
  constexpr double lowest = -14;
  constexpr double highest = 16;
  constexpr double step = 0.5;
  constexpr int halvings = 50;
  const double mean = sums.target / sums.weight;
  const double variance = sums.target_square / sums.weight - mean * mean;
  if (!(variance > 0)) return none;
  const auto at = [&](double log_ratio) { return likely_at(std::exp(log_ratio), sums); };
  double best = lowest;
  double most = at(best).log_likelihood;
  for (double log_ratio = lowest + step; log_ratio <= highest; log_ratio += step) {
    const double own = at(log_ratio).log_likelihood;
    if (own > most) best = log_ratio;
    most = std::max(most, own);
  }
  const double without = -sums.weight * std::log(variance) / 2;
  constexpr double least_gain = 1e-6;  // nats: more than rounding
  if (!(most > without + least_gain)) return none;
  double low = best - step;
  double high = best + step;
  for (int k = 0; k < halvings; ++k) {
    const double middle = std::midpoint(low, high);
    (at(middle).slope > 0 ? low : high) = middle;
  }
  return std::exp(low);
}

// ------------------------------------------------------------------- what the other columns leave of targets

struct Columns {
  std::vector<std::size_t> with_effects;  // the first input of each
  std::vector<std::size_t> others;        // all inputs of the others
};

Columns columns_of(const Encoder& encoder) {
  Columns columns;
  for (const auto& [feature, first] : encoder.places()) {
    if (feature.has_effects()) columns.with_effects.push_back(first);
    for (std::size_t k = 0; !feature.has_effects() && k < feature.width(); ++k) {
      columns.others.push_back(first + k);
    }
  }
  return columns;
}

// Rows x effects.
Matrix target_columns(const Encoder& encoder, const EncodedRows& rows) {
  const TargetColumn& first = encoder.targets.front();
  const std::size_t width = encoder.targets.size();
  if (!encoder.has_classes()) {
    Matrix targets =
        Eigen::Map<const Matrix>(rows.targets.data(), index(width), index(rows.rows)).transpose();
    if (encoder.has_counts()) targets = targets.array().log1p();
    return targets;
  }
  const std::size_t classes = first.classes.size();
  Matrix targets = Matrix::Zero(index(rows.rows), index(classes));
  for (std::size_t n = 0; n < rows.rows; ++n) {
    targets(index(n), static_cast<Eigen::Index>(rows.targets[n])) = 1;
  }
  return classes == 2 ? Matrix(targets.col(1)) : targets;
}

Vector weights_of(const EncodedRows& rows) {
  if (rows.weights.empty()) return Vector::Ones(index(rows.rows));
  return Eigen::Map<const Vector>(rows.weights.data(), index(rows.rows));
}

Matrix inputs_of(const EncodedRows& rows, const std::vector<std::size_t>& columns) {
  const std::size_t width = rows.inputs.size() / rows.rows;
  Matrix inputs(index(rows.rows), index(columns.size()));
  for (std::size_t n = 0; n < rows.rows; ++n) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      inputs(index(n), index(k)) = rows.inputs[n * width + columns[k]];
    }
  }
  return inputs;
}

void take_mean_out(const Vector& weights, Matrix& columns) {
  const Eigen::RowVectorXd means = weights.transpose() * columns / weights.sum();
  columns.rowwise() -= means;
}

// Directions of the inputs that are orthogonal over the rows, one per column, and their eigenvalues. From the smaller of the
// two products of the inputs with themselves.
struct Directions {
  Matrix vectors;
  Vector squares;
};

Directions directions_of(const Matrix& inputs) {
  const bool few_rows = inputs.rows() < inputs.cols();
  const Matrix product =
      few_rows ? Matrix(inputs * inputs.transpose()) : Matrix(inputs.transpose() * inputs);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(product);
  const Vector& values = eigen.eigenvalues();
  const double least = 1e-12 * values.cwiseAbs().maxCoeff();  // less is rounding
  const Eigen::Index count = (values.array() > least).count();
  Directions found{eigen.eigenvectors().rightCols(count), values.tail(count)};
  if (few_rows) {
    found.vectors =
        inputs.transpose() * found.vectors * found.squares.cwiseSqrt().cwiseInverse().asDiagonal();
  }
  return found;
}

// Takes from the targets what the other inputs say of them.
void take_linear_out(const Matrix& inputs, const Vector& weights, Matrix& targets) {
  if (inputs.cols() == 0) return;
  const Vector roots = weights.cwiseSqrt();
  const Directions directions = directions_of(roots.asDiagonal() * inputs);
  for (Eigen::Index k = 0; k < targets.cols(); ++k) {
    const Vector weighted = weights.cwiseProduct(targets.col(k));
    Sums sums{.of_squares = directions.squares,
              .with_target = directions.vectors.transpose() * (inputs.transpose() * weighted),
              .with_one = Vector::Zero(directions.squares.size()),
              .target_square = weighted.dot(targets.col(k)),
              .target = weighted.sum(),
              .weight = weights.sum()};
    const double ratio = most_likely_ratio(sums);
    if (ratio == none) continue;
    const Vector slopes = directions.vectors * sums.with_target.cwiseQuotient(
                                                   (directions.squares.array() + ratio).matrix());
    targets.col(k) -= inputs * slopes;
  }
}

// ------------------------------------------------------------------------------------------- the effects

// Rows of one column.
struct Valued {
  std::vector<std::size_t> places;  // of their values; one beyond the last is any that is not known
  const Vector& weights;

  // Of the rows of each value.
  Vector sums(const Vector& of_rows, std::size_t values) const {
    Vector sums = Vector::Zero(index(values));
    for (std::size_t n = 0; n < places.size(); ++n) {
      if (places[n] < values) sums[index(places[n])] += weights[index(n)] * of_rows[index(n)];
    }
    return sums;
  }
};

// What is left of the rows' targets becomes what is left beyond the mean.
Effects most_likely_effects(const Valued& rows, const Vector& value_weights, Vector& left) {
  const auto values = static_cast<std::size_t>(value_weights.size());
  const Vector weighted = rows.weights.cwiseProduct(left);
  const Sums sums{.of_squares = value_weights,
                  .with_target = rows.sums(left, values),
                  .with_one = value_weights,
                  .target_square = weighted.dot(left),
                  .target = weighted.sum(),
                  .weight = rows.weights.sum()};
  Effects effects;
  const double ratio = most_likely_ratio(sums);
  if (ratio != none) {
    const Likely likely = likely_at(ratio, sums);
    effects.within = std::sqrt(likely.variance);
    effects.between = effects.within / std::sqrt(ratio);
    left.array() -= likely.mean;
  }
  const Vector own = rows.sums(left, values);
  effects.sums.assign(own.begin(), own.end());
  return effects;
}

// Of all rows but one, which has this weight and of whose target this is left.
Effect effect_without(const Effects& effects, double value_weight, double sum, double weight,
                      double left) {
  return effect_of(effects, value_weight - weight, sum - weight * left);
}

void learn_effects(FeatureColumn& feature, std::size_t first, const Vector& weights, Matrix left,
                   EncodedRows& rows) {
  const std::size_t width = rows.inputs.size() / rows.rows;
  Valued valued{{}, weights};
  for (std::size_t n = 0; n < rows.rows; ++n) {
    valued.places.push_back(static_cast<std::size_t>(rows.inputs[n * width + first]));
  }
  const std::size_t values = feature.value_weights.size();
  const Vector value_weights = valued.sums(Vector::Ones(weights.size()), values);
  feature.value_weights.assign(value_weights.begin(), value_weights.end());
  for (std::size_t k = 0; k < feature.effects.size(); ++k) {
    Vector own = left.col(index(k));
    Effects& effects = feature.effects[k];
    effects = most_likely_effects(valued, value_weights, own);
    for (std::size_t n = 0; n < rows.rows; ++n) {
      const std::size_t place = valued.places[n];
      const Effect effect =
          place < values ? effect_without(effects, feature.value_weights[place],
                                          effects.sums[place], weights[index(n)], own[index(n)])
                         : effect_of(effects, 0, 0);
      double* out = rows.inputs.data() + n * width + first + 2 * k;
      out[0] = effect.mean;
      out[1] = effect.deviation;
    }
  }
}

}  // namespace

void learn_effects(Encoder& encoder, EncodedRows& rows) {
  if (!encoder.has_effects()) return;
  const Columns columns = columns_of(encoder);
  const Vector weights = weights_of(rows);
  Matrix left = target_columns(encoder, rows);
  Matrix inputs = inputs_of(rows, columns.others);
  take_mean_out(weights, left);
  take_mean_out(weights, inputs);
  take_linear_out(inputs, weights, left);
  auto first = columns.with_effects.begin();
  for (FeatureColumn& feature : encoder.features) {
    if (feature.has_effects()) learn_effects(feature, *first++, weights, left, rows);
  }
}

std::vector<UncertainInput> uncertain_inputs(const Encoder& encoder) {
  std::vector<UncertainInput> uncertain;
  for (const auto& [feature, first] : encoder.places()) {
    for (std::size_t k = 0; k < feature.effects.size(); ++k) {
      uncertain.push_back({first + 2 * k, first + 2 * k + 1});
    }
  }
  return uncertain;
}

}  // namespace dma::detail
