#include "belief/one_pass.h"

namespace dma::detail {

template <std::floating_point T>
OnePass<T>::OnePass(IndependentState<T>& state)
    : known_(state),
      sweep_(state.architecture(), state.own.rule,
             state.own.readable_kernel ? kernels::scalar<T>() : kernels::simd<T>()) {
  for (const double variance : state.posterior.noise_variance) {
    noise_.push_back(T(variance));
    running_noise_.emplace_back(variance);
  }
}

template <std::floating_point T>
Prediction OnePass<T>::learn(const Data& data) {
  known_.batches.take_rows(data);
  Prediction cavity;
  for (auto* numbers : {&cavity.mean, &cavity.epistemic_variance, &cavity.noise_variance}) {
    numbers->reserve(data.rows * outputs());
  }
  try {
    sweep_through(cavity);
    take_belief(data.rows);
  } catch (const NumericalBreakdown&) {
    known_.batches.drop_rows();
    throw;
  }
  known_.batches.drop_rows();
  ++calls_;
  return cavity;
}

template <std::floating_point T>
void OnePass<T>::finish_noise() {
  if (!known_.options.noise.learn) return;
  for (std::size_t k = 0; k < running_noise_.size(); ++k) {
    running_noise_[k].finish();
    known_.posterior.noise_variance[k] = running_noise_[k].noise();
  }
}

// From the belief on, with the rows that are here; the belief is left as it was.
template <std::floating_point T>
void OnePass<T>::sweep_through(Prediction& cavity) {
  sweep_.load(known_.posterior.tau, known_.posterior.rho);
  if (const auto broken = sweep_.forward(known_.batches.input(0))) {
    throw NumericalBreakdown(*broken, calls_, 0);
  }
  for (std::size_t row = 0; row < rows(); ++row) {
    record(cavity);
    learn_row(row);
    if (known_.options.noise.learn) learn_noise_from(cavity, row);
  }
}

// Backward, and forward to the next row if there is one.
template <std::floating_point T>
void OnePass<T>::learn_row(std::size_t row) {
  const auto target = known_.batches.target(row);
  if (row + 1 < rows()) {
    const auto broken = sweep_.advance(target, noise_, known_.batches.input(row + 1));
    if (broken) throw NumericalBreakdown(broken->layer, calls_, row + (broken->in_next ? 1 : 0));
  } else {
    const auto broken = sweep_.backward(target, noise_, [](std::size_t, const auto&) {});
    if (broken) throw NumericalBreakdown(*broken, calls_, row);
  }
}

template <std::floating_point T>
void OnePass<T>::record(Prediction& cavity) const {
  for (std::size_t k = 0; k < outputs(); ++k) {
    cavity.mean.push_back(static_cast<double>(sweep_.output_mean()[k]));
    cavity.epistemic_variance.push_back(static_cast<double>(sweep_.output_variance()[k]));
    cavity.noise_variance.push_back(known_.posterior.noise_variance[k]);
  }
}

template <std::floating_point T>
void OnePass<T>::learn_noise_from(const Prediction& cavity, std::size_t row) {
  for (std::size_t k = 0; k < outputs(); ++k) {
    const std::size_t place = row * outputs() + k;
    const double miss = static_cast<double>(known_.batches.target(row)[k]) - cavity.mean[place];
    if (!running_noise_[k].add({miss * miss, cavity.epistemic_variance[place]})) continue;
    known_.posterior.noise_variance[k] = running_noise_[k].noise();
    noise_[k] = T(running_noise_[k].noise());
  }
}

// What the sweep has come to, if every weight is a proper Gaussian.
template <std::floating_point T>
void OnePass<T>::take_belief(std::size_t rows) {
  std::vector<T> tau(known_.weights());
  std::vector<T> rho(known_.weights());
  for (std::size_t k = 0; k < rho.size(); ++k) {
    rho[k] = 1 / sweep_.variance()[k];
    tau[k] = sweep_.mean()[k] * rho[k];
    if (!is_proper(tau[k], rho[k])) {
      throw NumericalBreakdown(known_.architecture().layer_of(k), calls_, rows - 1);
    }
  }
  known_.posterior.tau = std::move(tau);
  known_.posterior.rho = std::move(rho);
}

template class OnePass<float>;
template class OnePass<double>;

}  // namespace dma::detail
