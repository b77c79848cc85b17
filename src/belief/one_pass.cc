#include "belief/one_pass.h"

namespace dma::detail {

template <std::floating_point T>
OnePass<T>::OnePass(IndependentState<T>& state)
    : known_(state),
      sweep_(state.architecture(), state.own.rule,
             state.own.readable_kernel ? kernels::scalar<T>() : kernels::simd<T>()),
      message_(*state.likelihood, state.own) {}

namespace {

void append(const std::vector<double>& more, std::vector<double>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

template <std::floating_point T>
Prediction OnePass<T>::learn(const Data& data) {
  known_.batches.take_rows(data);
  Prediction cavity;
  kept_ = {};
  try {
    sweep_through(cavity);
    take_belief(data.rows);
  } catch (const NumericalBreakdown&) {
    known_.batches.drop_rows();
    throw;
  }
  known_.batches.drop_rows();
  known_.show_likelihood();
  ++calls_;
  return cavity;
}

template <std::floating_point T>
void OnePass<T>::finish_learning() {
  known_.likelihood->finish_learning();
  known_.show_likelihood();
}

// From the belief on, with the rows that are here; the belief is left as it was.
template <std::floating_point T>
void OnePass<T>::sweep_through(Prediction& cavity) {
  sweep_.load(known_.posterior.tau, known_.posterior.rho);
  if (const auto broken = sweep_.forward(known_.batches.input(0))) {
    throw NumericalBreakdown(*broken, calls_, 0);
  }
  std::unique_ptr<Likelihood> as_it_was = known_.likelihood->clone();
  for (std::size_t row = 0; row < rows(); ++row) {
    const double weight = known_.batches.weight(row);
    const Visits visits(weight);
    message_.hear(sweep_, known_.batches.target(row), visits.times(0));
    if (known_.own.cavity_score) keep_outputs();
    if (known_.likelihood->follow(message_.target(), message_.outputs(), weight)) {
      predict_kept(*as_it_was, cavity);
      as_it_was = known_.likelihood->clone();
    }
    for (std::size_t v = 1; v < visits.count(); ++v) {
      advance(row, row);
      message_.hear(sweep_, known_.batches.target(row), visits.times(v));
    }
    learn_row(row);
  }
  predict_kept(*as_it_was, cavity);
}

template <std::floating_point T>
void OnePass<T>::advance(std::size_t row, std::size_t next) {
  const auto broken =
      sweep_.advance(message_.mean(), message_.variance(), known_.batches.input(next));
  if (broken) throw NumericalBreakdown(broken->layer, calls_, broken->in_next ? next : row);
}

// Backward, and forward to the next row if there is one.
template <std::floating_point T>
void OnePass<T>::learn_row(std::size_t row) {
  if (row + 1 < rows()) {
    advance(row, row + 1);
  } else {
    const auto nothing = [](std::size_t, const auto&) {};
    const auto broken = sweep_.backward(message_.mean(), message_.variance(), nothing);
    if (broken) throw NumericalBreakdown(*broken, calls_, row);
  }
}

template <std::floating_point T>
void OnePass<T>::keep_outputs() {
  const Outputs outputs = message_.outputs();
  kept_.mean.insert(kept_.mean.end(), outputs.mean.begin(), outputs.mean.end());
  kept_.variance.insert(kept_.variance.end(), outputs.variance.begin(), outputs.variance.end());
}

template <std::floating_point T>
void OnePass<T>::predict_kept(const Likelihood& likelihood, Prediction& cavity) {
  if (kept_.mean.empty()) return;
  const Prediction more = likelihood.predictive(kept_.outputs());
  append(more.mean, cavity.mean);
  append(more.epistemic_variance, cavity.epistemic_variance);
  append(more.noise_variance, cavity.noise_variance);
  append(more.noise_spread, cavity.noise_spread);
  append(more.entropy, cavity.entropy);
  kept_ = {};
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
