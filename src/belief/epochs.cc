#include "belief/epochs.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "belief/certificate.h"
#include "belief/training.h"

namespace dma::detail {
namespace {

void resize(OutputMoments& moments, std::size_t size, double value) {
  moments.mean.assign(size, value);
  moments.variance.assign(size, value);
}

// One for every 400 sweeps that the fit has made, but some.
std::size_t certificate_examples(std::size_t rows, std::size_t weights, std::size_t epochs) {
  constexpr std::size_t most_messages = 30'000;
  constexpr std::size_t few = 20;
  const std::size_t affordable = std::max<std::size_t>(1, most_messages / weights);
  const std::size_t share = std::max(few, rows * epochs / 400);
  return std::min({rows, affordable, share, std::size_t{200}});
}

}  // namespace

template <std::floating_point T>
Epochs<T>::Epochs(IndependentState<T>& state)
    : known_(state),
      kernels_(state.own.readable_kernel ? &kernels::scalar<T>() : &kernels::simd<T>()),
      sweep_(state.architecture(), state.own.rule, *kernels_),
      cavity_sweep_(state.architecture(), state.own.rule, *kernels_),
      cavity_tau_(state.weights()),
      cavity_rho_(state.weights()),
      start_mean_(state.weights()),
      start_variance_(state.weights()),
      message_(*state.likelihood, state.own) {}

template <std::floating_point T>
FitResult Epochs<T>::fit(const std::function<void(bool)>& after_epoch) {
  require(rows() > 0, "there is no data to fit: call append() first");
  if (!std::exchange(resumed_, false)) begin_fit();
  // Room for all epochs, so that none allocates.
  result_.train_nll.reserve(known_.options.max_epochs);
  result_.cavity_nll.reserve(known_.options.max_epochs);
  targets_.assign(known_.batches.target_values().begin(), known_.batches.target_values().end());
  resize(training_, rows() * outputs(), 0);
  const bool learns = known_.heard_all && known_.batches.all_here();
  result_.ledger_bytes = known_.ledger.bytes();
  while (!is_done()) {
    ++result_.epochs;
    const bool finished = run_epoch(result_.epochs);
    score_training();
    if (!finished) {
      result_.stopped = Stopped::interrupted;
      break;
    }
    if (learns) learn_likelihood();
    if (after_epoch) after_epoch(is_done());
  }
  if (known_.ledger.mode == LedgerMode::full) known_.rebuild();
  known_.show_likelihood();
  result_.cavity_predictions = known_.likelihood->predictive(cavity_.outputs());
  if (known_.own.cavity_score) {
    result_.cavity = known_.likelihood->score(targets(), result_.cavity_predictions);
  }
  if (known_.own.certificate) {
    result_.certificate = certify(certificate_examples(rows(), known_.weights(), result_.epochs));
    result_.certificate.negative_messages = negative_messages_;
  }
  return std::move(result_);
}

template <std::floating_point T>
Arrays Epochs<T>::state() const {
  Arrays state;
  state.put("negative_messages", std::vector<std::uint64_t>{negative_messages_});
  state.put("train_nll", result_.train_nll);
  state.put("cavity_nll", result_.cavity_nll);
  state.put("cavity_mean", cavity_.mean);
  state.put("cavity_variance", cavity_.variance);
  return state;
}

template <std::floating_point T>
void Epochs<T>::resume(Arrays state) {
  const std::vector<std::size_t> values{rows() * outputs()};
  negative_messages_ = state.take<std::uint64_t>("negative_messages", {1}).front();
  cavity_.mean = state.take<double>("cavity_mean", values);
  cavity_.variance = state.take<double>("cavity_variance", values);
  result_ = {};
  result_.train_nll = state.take<double>("train_nll");
  result_.epochs = result_.train_nll.size();
  result_.cavity_nll = state.take<double>("cavity_nll", {result_.epochs});
  require(result_.epochs > 0, "the state to resume is that of another fit");
  resumed_ = true;
}

template <std::floating_point T>
void Epochs<T>::begin_fit() {
  for (auto& message : known_.ledger.messages) {
    message.tau.resize(known_.weights());
    message.rho.resize(known_.weights());
  }
  result_ = {};
  negative_messages_ = 0;
  resize(cavity_, rows() * outputs(), std::numeric_limits<double>::quiet_NaN());
}

// Whether the epochs so far meet a criterion; if so, notes which.
template <std::floating_point T>
bool Epochs<T>::is_done() {
  if (result_.epochs > 0 && (has_settled() || changes_little())) {
    result_.stopped = Stopped::tolerance;
    return true;
  }
  result_.stopped = Stopped::max_epochs;
  return result_.epochs >= known_.options.max_epochs;
}

template <std::floating_point T>
bool Epochs<T>::has_settled() const {
  const std::vector<double>& nll = result_.train_nll;
  const double tolerance = known_.options.tolerance;
  std::size_t settled = 0;
  for (std::size_t n = nll.size(); n-- > 1 && std::abs(nll[n - 1] - nll[n]) < tolerance;) ++settled;
  return is_over(settled, tolerance, known_.options.patience);
}

// The paper's rule.
template <std::floating_point T>
bool Epochs<T>::changes_little() const {
  const std::vector<double>& nll = result_.train_nll;
  if (nll.size() < 2) return false;
  const double last = nll[nll.size() - 2];
  const double change = std::abs(nll.back() - last) / std::max(1e-8, std::abs(last));
  return change < known_.own.relative_tolerance;
}

// False if the progress callback asked to stop.
template <std::floating_point T>
bool Epochs<T>::run_epoch(std::size_t epoch) {
  bool go_on = true;
  std::size_t b = 0;
  for (; b < known_.batches.size() && go_on; ++b) {
    if (!known_.batches[b].here()) continue;
    const bool from_belief = epoch >= known_.own.belief_from_epoch && known_.batches[b].visited &&
                             known_.ledger.mode != LedgerMode::none;
    set_cavity(b);
    if (from_belief) {
      sweep_from_belief(b);
    } else {
      sweep_from_cavity(b);
    }
    close_batch(b);
    go_on = !known_.options.progress || known_.options.progress({epoch, known_.options.max_epochs,
                                                                 b + 1, known_.batches.size()});
  }
  result_.cavity_nll.push_back(known_.own.cavity_score ? cavity_nll(b)
                                                       : std::numeric_limits<double>::quiet_NaN());
  return go_on;
}

// The belief without the batch's old message. Where that was almost all the belief had, single precision may
// not have the digits for what is left.
template <std::floating_point T>
void Epochs<T>::set_cavity(std::size_t b) {
  const std::vector<T>& tau = known_.posterior.tau;
  const std::vector<T>& rho = known_.posterior.rho;
  const bool visited = known_.batches[b].visited;
  if (!visited || known_.ledger.mode == LedgerMode::none) {
    cavity_tau_ = tau;
    cavity_rho_ = rho;
    return;
  }
  bool proper = true;
  const auto set = [&](std::size_t k, T own_tau, T own_rho) {
    cavity_tau_[k] = tau[k] - own_tau;
    cavity_rho_[k] = rho[k] - own_rho;
    proper &= cavity_rho_[k] > 0;
  };
  if (known_.ledger.mode == LedgerMode::full) {
    const auto& old = known_.ledger.messages[b];
    for (std::size_t k = 0; k < tau.size(); ++k) set(k, old.tau[k], old.rho[k]);
  } else {
    const T share = T(1) / T(known_.batches.visited());
    for (std::size_t k = 0; k < tau.size(); ++k) {
      set(k, share * (tau[k] - known_.prior_tau[k]), share * (rho[k] - known_.prior_rho[k]));
    }
  }
  if (proper) return;
  std::size_t lost = 0;
  while (cavity_rho_[lost] > 0) ++lost;
  throw NumericalBreakdown(known_.architecture().layer_of(lost), b, 0);
}

// The weights' moments, beside the cavity and what the sweep starts from.
template <std::floating_point T>
kernels::BatchBelief<T> Epochs<T>::working_belief() {
  return {.weights = known_.weights(),
          .cavity_tau = cavity_tau_.data(),
          .cavity_rho = cavity_rho_.data(),
          .start_mean = start_mean_.data(),
          .start_variance = start_variance_.data(),
          .mean = sweep_.mean().data(),
          .variance = sweep_.variance().data()};
}

// The batch's message is all that the sweep's moments have beside the start's. It goes where the start was, and
// the new belief where the cavity was; if it is a proper one, they change places with the old ones.
template <std::floating_point T>
void Epochs<T>::close_batch(std::size_t b) {
  assert(!known_.above_prior || known_.is_above_prior(cavity_rho_));
  const kernels::Closed closed =
      kernels_->close_batch(working_belief(), {start_mean_.data(), start_variance_.data()},
                            {cavity_tau_.data(), cavity_rho_.data()});
  if (!closed.proper) throw NumericalBreakdown(improper_layer(), b, known_.batches[b].count - 1);
  known_.posterior.tau.swap(cavity_tau_);
  known_.posterior.rho.swap(cavity_rho_);
  negative_messages_ += closed.negative;
  if (known_.ledger.mode == LedgerMode::full) {
    known_.ledger.messages[b].tau.swap(start_mean_);
    known_.ledger.messages[b].rho.swap(start_variance_);
  }
  known_.batches.visit(b);
}

// The first layer with an improper weight, in a new belief that lies where the cavity was.
template <std::floating_point T>
std::size_t Epochs<T>::improper_layer() const {
  std::size_t k = 0;
  while (is_proper(cavity_tau_[k], cavity_rho_[k])) ++k;
  return known_.architecture().layer_of(k);
}

template <std::floating_point T>
void Epochs<T>::sweep_from_cavity(std::size_t b) {
  kernels_->open_batch(working_belief());
  const auto [first, count, visited] = known_.batches[b];
  const std::size_t last = first + count - 1;
  forward(sweep_, b, first);
  for (std::size_t row = first; row <= last; ++row) {
    if (known_.own.cavity_score) keep_outputs(sweep_, row, cavity_);
    const Visits visits(known_.batches.weight(row));
    for (std::size_t v = 0; v < visits.count(); ++v) {
      const bool again = v + 1 < visits.count();
      if (again || row < last) {
        advance(b, row, again ? row : row + 1, visits.times(v));
      } else {
        take_messages(b, row, visits.times(v));
      }
    }
  }
}

// q <- q m_new / m_old, example by example; the old message leaves in shares by what each counts.
template <std::floating_point T>
void Epochs<T>::sweep_from_belief(std::size_t b) {
  cavity_sweep_.load(cavity_tau_, cavity_rho_);
  sweep_.load(known_.posterior.tau, known_.posterior.rho);
  const auto batch = known_.batches[b];
  const double all = weight_of(b);
  for (std::size_t row = batch.first; row < batch.first + batch.count; ++row) {
    if (known_.own.cavity_score) {
      forward(cavity_sweep_, b, row);
      keep_outputs(cavity_sweep_, row, cavity_);
    }
    const Visits visits(known_.batches.weight(row));
    for (std::size_t v = 0; v < visits.count(); ++v) {
      forward(sweep_, b, row);
      take_messages(b, row, visits.times(v));
      take_out_old(T(visits.times(v) / all));
    }
  }
  std::ranges::copy(cavity_sweep_.mean(), start_mean_.begin());
  std::ranges::copy(cavity_sweep_.variance(), start_variance_.begin());
}

template <std::floating_point T>
double Epochs<T>::weight_of(std::size_t b) const {
  const auto [first, count, visited] = known_.batches[b];
  const std::span<const double> all(known_.batches.weights());
  return total_weight(all.empty() ? all : all.subspan(first, count), count);
}

// Divides a share of the old message out of the sweep's belief.
template <std::floating_point T>
void Epochs<T>::take_out_old(T share) {
  T* mean = sweep_.mean().data();
  T* variance = sweep_.variance().data();
  for (std::size_t k = 0; k < known_.weights(); ++k) {
    const T precision = 1 / variance[k];
    const T tau = mean[k] * precision - share * (known_.posterior.tau[k] - cavity_tau_[k]);
    variance[k] = 1 / (precision - share * (known_.posterior.rho[k] - cavity_rho_[k]));
    mean[k] = tau * variance[k];
  }
}

template <std::floating_point T>
void Epochs<T>::forward(Sweep<T>& sweep, std::size_t b, std::size_t row) {
  const auto broken = sweep.forward(known_.batches.input(row));
  if (broken) throw NumericalBreakdown(*broken, b, row - known_.batches[b].first);
}

template <std::floating_point T>
void Epochs<T>::take_messages(std::size_t b, std::size_t row, double times) {
  const auto nothing = [](std::size_t, const auto&) {};
  message_.hear(sweep_, known_.batches.target(row), times);
  const auto broken = sweep_.backward(message_.mean(), message_.variance(), nothing);
  if (broken) throw NumericalBreakdown(*broken, b, row - known_.batches[b].first);
}

// Takes the messages of this row and goes on to the next, which may be the same.
template <std::floating_point T>
void Epochs<T>::advance(std::size_t b, std::size_t row, std::size_t next, double times) {
  message_.hear(sweep_, known_.batches.target(row), times);
  const auto broken =
      sweep_.advance(message_.mean(), message_.variance(), known_.batches.input(next));
  if (!broken) return;
  throw NumericalBreakdown(broken->layer, b,
                           (broken->in_next ? next : row) - known_.batches[b].first);
}

template <std::floating_point T>
void Epochs<T>::keep_outputs(const Sweep<T>& sweep, std::size_t row, OutputMoments& all) {
  for (std::size_t k = 0; k < outputs(); ++k) {
    all.mean[row * outputs() + k] = static_cast<double>(sweep.output_mean()[k]);
    all.variance[row * outputs() + k] = static_cast<double>(sweep.output_variance()[k]);
  }
}

// The score of the first so many batches: the rest were not swept in this epoch.
template <std::floating_point T>
double Epochs<T>::cavity_nll(std::size_t batches) const {
  const Likelihood& likelihood = *known_.likelihood;
  if (batches == known_.batches.size()) return likelihood.mean_nll(targets(), cavity_.outputs());
  std::vector<double> some_targets, some_weights;
  OutputMoments some;
  const auto append = [](const std::vector<double>& all, std::size_t first, std::size_t count,
                         std::vector<double>& to) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  for (std::size_t b = 0; b < batches; ++b) {
    if (!known_.batches[b].here()) continue;
    const auto [first, count, visited] = known_.batches[b];
    append(targets_, first * likelihood.targets(), count * likelihood.targets(), some_targets);
    const std::vector<double>& weights = known_.batches.weights();
    if (!weights.empty()) append(weights, first, count, some_weights);
    append(cavity_.mean, first * outputs(), count * outputs(), some.mean);
    append(cavity_.variance, first * outputs(), count * outputs(), some.variance);
  }
  return likelihood.mean_nll({some_targets, some_weights}, some.outputs());
}

// The training log-likelihood under the belief as it is now (the paper's L_e).
template <std::floating_point T>
void Epochs<T>::score_training() {
  sweep_.load(known_.posterior.tau, known_.posterior.rho);
  for (std::size_t b = 0; b < known_.batches.size(); ++b) {
    if (!known_.batches[b].here()) continue;
    const std::size_t first = known_.batches[b].first;
    for (std::size_t row = first; row < first + known_.batches[b].count; ++row) {
      forward(sweep_, b, row);
      keep_outputs(sweep_, row, training_);
    }
  }
  result_.train_nll.push_back(known_.likelihood->mean_nll(targets(), training_.outputs()));
}

template <std::floating_point T>
void Epochs<T>::learn_likelihood() {
  const bool cavity = known_.own.noise_source == NoiseSource::cavity;
  known_.likelihood->learn(targets(), (cavity ? cavity_ : training_).outputs());
}

template <std::floating_point T>
Certificate Epochs<T>::certify(std::size_t examples) {
  CertificateCollector<T> collector(known_.architecture().layers());
  for (std::size_t n = 0; n < examples; ++n) {
    const std::size_t row = n * rows() / examples;
    sweep_.load(known_.posterior.tau, known_.posterior.rho);
    (void)sweep_.forward(known_.batches.input(row));
    message_.hear(sweep_, known_.batches.target(row));
    (void)sweep_.backward(message_.mean(), message_.variance(),
                          [&](std::size_t l, const auto& layer) { collector.observe(l, layer); });
    collector.count_example();
  }
  return collector.finish(known_.architecture(), known_.posterior.rho);
}

template class Epochs<float>;
template class Epochs<double>;

}  // namespace dma::detail
