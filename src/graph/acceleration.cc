#include "graph/acceleration.h"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dma::detail {
namespace {

using Eigen::Index;
using Vector = Eigen::VectorXd;

Eigen::Map<const Vector> mapped(const std::vector<double>& numbers) {
  return {numbers.data(), static_cast<Index>(numbers.size())};
}

}  // namespace

void Acceleration::begin(std::span<const Gaussian<double>> messages) {
  if (depth_ == 0) return;
  before_.resize(messages.size());
  std::transform(messages.begin(), messages.end(), before_.begin(),
                 [](Gaussian<double> message) { return message.tau; });
}

bool Acceleration::extrapolate(std::span<Gaussian<double>> messages,
                               std::span<const double> scale) {
  if (depth_ == 0) return false;
  Sweep sweep{std::vector<double>(messages.size()), std::vector<double>(messages.size())};
  for (std::size_t edge = 0; edge < messages.size(); ++edge) {
    sweep.after[edge] = messages[edge].tau;
    sweep.moved[edge] = (messages[edge].tau - before_[edge]) * scale[edge];
  }
  const bool worse =
      !history_.empty() && mapped(sweep.moved).norm() > 2 * mapped(history_.back().moved).norm();
  if (worse) history_.clear();  // where the sweep is not linear enough, begin again
  history_.push_back(std::move(sweep));
  if (history_.size() > depth_ + 1) history_.erase(history_.begin());
  const std::size_t back = history_.size() - 1;
  if (back == 0) return false;

  // a minimises |f - sum_k a_k (f - f_k)|, f of the last sweep.
  const auto& last = history_.back();
  Eigen::MatrixXd gram(back, back);
  Vector aim(back);
  std::vector<Vector> apart;
  for (std::size_t k = 0; k < back; ++k) {
    apart.emplace_back(mapped(last.moved) - mapped(history_[k].moved));
    aim[static_cast<Index>(k)] = apart[k].dot(mapped(last.moved));
    for (std::size_t j = 0; j <= k; ++j) {
      const double product = apart[k].dot(apart[j]);
      gram(static_cast<Index>(k), static_cast<Index>(j)) = product;
      gram(static_cast<Index>(j), static_cast<Index>(k)) = product;
    }
  }
  const Vector a = gram.completeOrthogonalDecomposition().solve(aim);
  if (!a.allFinite()) return false;
  for (std::size_t edge = 0; edge < messages.size(); ++edge) {
    if (!messages[edge].is_proper() || scale[edge] == 0) continue;
    double tau = last.after[edge];
    for (std::size_t k = 0; k < back; ++k)
      tau += a[static_cast<Index>(k)] * (history_[k].after[edge] - last.after[edge]);
    messages[edge].tau = tau;
  }
  return true;
}

}  // namespace dma::detail
