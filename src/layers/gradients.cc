#include "layers/gradients.h"

#include "backend/dense.h"

namespace dma::detail {
namespace {

// Columns of a symmetric matrix that are worked on at a time: what they take then stays in the cache.
constexpr std::size_t panel_columns = 96;

// Rows [first, first + count) of a matrix.
backend::Operand rows_of(const Matrix& matrix, std::size_t first, std::size_t count) {
  return {matrix.data() + first, count, static_cast<std::size_t>(matrix.cols()), 1,
          static_cast<std::size_t>(matrix.rows())};
}

Matrix product_of(const backend::Operand& a, const backend::Operand& b) {
  Matrix result = Matrix::Zero(index(a.rows), index(b.columns));
  backend::add_product(a, b, backend::target(result));
  return result;
}

// A layer's weights with a row per input: the numbers of one unit follow each other.
backend::Operand by_input(const Dense& place, const Vector& weights) {
  return {weights.data() + place.first, place.inputs, place.units, 1, place.inputs};
}

}  // namespace

Gradients::Gradients(const Architecture& architecture, std::size_t rows)
    : rows_(rows), weights_(architecture.weight_count()) {
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const Dense place = architecture.layer(l);
    layers_.push_back(
        {place, Matrix(index(rows), index(place.inputs)), Matrix(index(rows), index(place.units))});
  }
}

void Gradients::set(std::size_t first, std::size_t step, const Block& block,
                    std::span<const double> factors) {
  block.each_layer(factors, [&](std::size_t l, const Matrix& units, const Matrix& back) {
    const auto places = Eigen::seqN(index(first), units.rows(), index(step));
    layers_[l].units(places, Eigen::all) = units;
    layers_[l].back(places, Eigen::all) = back;
  });
}

void Gradients::multiply(double factor) {
  for (Layer& layer : layers_) layer.back *= factor;
}

// Row n: sum over units j of back_nj (U W')_nj.
Vector Gradients::times(const Vector& weights) const {
  Vector result = Vector::Zero(index(rows_));
  for (const auto& [place, units, back] : layers_) {
    const Matrix sums = product_of(backend::operand(units), by_input(place, weights));
    result += sums.cwiseProduct(back).rowwise().sum();
  }
  return result;
}

Vector Gradients::transposed_times(const Vector& rows) const {
  Vector result = Vector::Zero(index(weights_));
  for (const auto& [place, units, back] : layers_) {
    const Matrix scaled = rows.asDiagonal() * back;
    backend::add_product(backend::operand(units).transposed(), backend::operand(scaled),
                         {result.data() + place.first, place.inputs, place.units, place.inputs});
  }
  return result;
}

// take(first column, columns): the lower triangle, panel by panel.
template <class Take>
void Gradients::each_panel(const Take& take) const {
  for (std::size_t first = 0; first < rows_; first += panel_columns) {
    take(first, std::min(panel_columns, rows_ - first));
  }
}

Matrix Gradients::square(const Vector& scale) const {
  Matrix result = Matrix::Zero(index(rows_), index(rows_));
  for (const auto& [place, units, back] : layers_) {
    const Matrix scaled =
        units * scale.segment(index(place.first), index(place.inputs)).asDiagonal();
    backend::add_by_entry({backend::operand(scaled), backend::operand(units).transposed()},
                          {backend::operand(back), backend::operand(back).transposed()},
                          backend::target(result), backend::Part::lower);
  }
  return result;
}

Vector Gradients::product_diagonal(const Vector& scale, const Gradients& other) const {
  Vector result = Vector::Zero(index(rows_));
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const auto& [place, units, back] = layers_[l];
    const Vector inner = units.cwiseProduct(other.layers_[l].units) *
                         scale.segment(index(place.first), index(place.inputs));
    const Vector outer = back.cwiseProduct(other.layers_[l].back).rowwise().sum();
    result += inner.cwiseProduct(outer);
  }
  return result;
}

Matrix Gradients::product(const Vector& scale, const Gradients& other) const {
  Matrix result = Matrix::Zero(index(rows_), index(other.rows_));
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const auto& [place, units, back] = layers_[l];
    const Matrix scaled = other.layers_[l].units *
                          scale.segment(index(place.first), index(place.inputs)).asDiagonal();
    backend::add_by_entry(
        {backend::operand(units), backend::operand(scaled).transposed()},
        {backend::operand(back), backend::operand(other.layers_[l].back).transposed()},
        backend::target(result));
  }
  return result;
}

// For input i: u_i' (S o B B') u_i. Entries below the diagonal stand for two.
Vector Gradients::sandwich_by_input(const Matrix& symmetric) const {
  Vector result = Vector::Zero(index(weights_));
  for (const Layer& layer : layers_) {
    const Matrix& units = layer.units;
    const Matrix& back = layer.back;
    const Dense& place = layer.place;
    each_panel([&](std::size_t first, std::size_t columns) {
      const std::size_t below = rows_ - first;
      Matrix inner =
          product_of(rows_of(back, first, below), rows_of(back, first, columns).transposed());
      inner.array() *=
          2 * symmetric.block(index(first), index(first), index(below), index(columns)).array();
      auto corner = inner.topRows(index(columns));
      corner.triangularView<Eigen::StrictlyUpper>().setZero();
      corner.diagonal() /= 2;
      const Matrix turned = product_of(backend::operand(inner), rows_of(units, first, columns));
      result.segment(index(place.first), index(place.inputs)) +=
          units.bottomRows(index(below)).cwiseProduct(turned).colwise().sum();
    });
  }
  return result;
}

Vector Gradients::mean_curvature() const {
  Vector result(index(weights_));
  for (const auto& [place, units, back] : layers_) {
    const Vector outer = back.rowwise().squaredNorm() / static_cast<double>(place.units);
    const Vector own = units.cwiseAbs2().transpose() * outer;
    result.segment(index(place.first), index(place.weights())) =
        own.replicate(index(place.units), 1);
  }
  return result;
}

Matrix Gradients::all() const {
  Matrix result(index(rows_), index(weights_));
  for (const Layer& layer : layers_) {
    layer.place.each_weight([&](std::size_t weight, std::size_t unit, std::size_t input) {
      result.col(index(weight)) =
          layer.back.col(index(unit)).cwiseProduct(layer.units.col(index(input)));
    });
  }
  return result;
}

}  // namespace dma::detail
