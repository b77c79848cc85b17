#include <dma/base/parallel.h>
#include <dma/belief/trainer.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include <dma/special/normal.h>

#include "base/require.h"
#include "belief/certificate.h"
#include "layers/sweep.h"
#include "likelihood/noise.h"

namespace dma {
namespace {

using detail::require;

void validate(const TrainingOptions& options, std::size_t outputs) {
  require(options.batch_size > 0, "batch_size is 0");
  require(options.max_epochs > 0, "max_epochs is 0");
  require(options.tolerance >= 0,
          "tolerance must not be negative, got " + std::to_string(options.tolerance));
  require(
      options.cavity_score || !options.noise.learn || options.noise.source != NoiseSource::cavity,
      "noise cannot be learnt from the cavity without cavity_score");
  const auto& noise = options.noise.variance;
  require(noise.size() == 1 || noise.size() == outputs, "noise.variance must have 1 entry or " +
                                                            std::to_string(outputs) + ", got " +
                                                            std::to_string(noise.size()));
  for (const double variance : noise) {
    require(variance > 0 && std::isfinite(variance),
            "noise.variance must be positive and finite, got " + std::to_string(variance));
  }
}

// Sum of -log N(miss; 0, variance).
class NegativeLogDensity {
 public:
  void add(double miss, double variance) {
    logs_.add(variance);
    squares_ += miss * miss / variance;
    ++count_;
  }
  double mean() const {
    return (logs_.value() + squares_) / static_cast<double>(2 * count_) + special::log_sqrt_two_pi;
  }

 private:
  detail::LogSum logs_;
  double squares_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

std::string_view name_of(Stopped stopped) {
  constexpr std::array<std::string_view, 4> names{"tolerance", "patience", "max_epochs",
                                                  "interrupted"};
  return names[static_cast<std::size_t>(stopped)];
}

std::size_t ledger_bytes(LedgerMode mode, std::size_t batches, std::size_t weights,
                         std::size_t number_bytes) {
  return mode == LedgerMode::full ? 2 * batches * weights * number_bytes : 0;
}

NumericalBreakdown::NumericalBreakdown(std::size_t in_layer, std::size_t in_batch,
                                       std::size_t in_example)
    : std::runtime_error("numbers broke down (not finite, or a variance not positive) in layer " +
                         std::to_string(in_layer) + ", batch " + std::to_string(in_batch) +
                         ", example " + std::to_string(in_example) +
                         "; the posterior is the one before that batch"),
      layer(in_layer),
      batch(in_batch),
      example(in_example) {}

template <std::floating_point T>
class Trainer<T>::State {
 public:
  State(Architecture architecture, WeightPrior prior, TrainingOptions options)
      : options_(std::move(options)),
        kernels_(options_.readable_kernel ? &kernels::scalar<T>() : &kernels::simd<T>()),
        sweep_(checked(architecture, prior, options_), options_.rule, *kernels_),
        cavity_sweep_(architecture, options_.rule, *kernels_) {
    const std::size_t outputs = architecture.outputs();
    posterior_.noise_variance = options_.noise.variance;
    posterior_.noise_variance.resize(outputs, options_.noise.variance.front());
    posterior_.architecture = std::move(architecture);
    for (std::size_t k = 0; k < prior.mean.size(); ++k) {
      prior_rho_.push_back(T(1 / prior.variance[k]));
      prior_tau_.push_back(T(prior.mean[k] / prior.variance[k]));
    }
    posterior_.tau = prior_tau_;
    posterior_.rho = prior_rho_;
    ledger_.mode = options_.ledger;
    cavity_tau_.resize(prior_tau_.size());
    cavity_rho_.resize(prior_rho_.size());
    start_mean_.resize(prior_tau_.size());
    start_variance_.resize(prior_rho_.size());
    noise_.resize(outputs);
    misses_.resize(outputs);
  }

  std::size_t append(const Data& data) {
    data.validate(inputs(), outputs());
    const std::size_t first = batches_.size();
    const std::size_t old_rows = rows();
    take_rows(data);
    for (std::size_t row = 0; row < data.rows; row += options_.batch_size) {
      batches_.push_back({old_rows + row, std::min(options_.batch_size, data.rows - row), false});
      if (ledger_.mode == LedgerMode::full) ledger_.messages.emplace_back();
    }
    return first;
  }

  void restore(Posterior<T> posterior, Ledger<T> ledger, std::span<const std::size_t> batch_rows) {
    require(batches_.empty(), "restore() must come before any append()");
    require(posterior.architecture.widths == posterior_.architecture.widths &&
                posterior.tau.size() == prior_tau_.size() &&
                posterior.rho.size() == prior_rho_.size() &&
                posterior.noise_variance.size() == outputs(),
            "the restored posterior is that of another network");
    require(ledger.mode == ledger_.mode, "the restored ledger is of another mode");
    require(ledger.messages.size() == (ledger.mode == LedgerMode::full ? batch_rows.size() : 0),
            "the restored ledger has " + std::to_string(ledger.messages.size()) + " messages for " +
                std::to_string(batch_rows.size()) + " batches");
    for (const auto& message : ledger.messages) {
      require(message.tau.size() == prior_tau_.size() && message.rho.size() == prior_rho_.size(),
              "a restored message does not have one entry per weight");
    }
    posterior_ = std::move(posterior);
    ledger_ = std::move(ledger);
    for (const std::size_t count : batch_rows) batches_.push_back({nowhere, count, true});
    visited_ = batches_.size();
    above_prior_ = is_above_prior(posterior_.rho);
  }

  void attach(std::size_t batch, const Data& data) {
    data.validate(inputs(), outputs());
    require_batch(batch);
    require(!batches_[batch].here(), "batch " + std::to_string(batch) + " has its rows already");
    require(data.rows == batches_[batch].count, "batch " + std::to_string(batch) + " has " +
                                                    std::to_string(batches_[batch].count) +
                                                    " rows, got " + std::to_string(data.rows));
    batches_[batch].first = rows();
    take_rows(data);
  }

  FitResult fit(const std::function<void(bool)>& after_epoch) {
    require(rows() > 0, "there is no data to fit: call append() first");
    if (!std::exchange(resumed_, false)) begin_fit();
    // So that an epoch allocates nothing.
    result_.train_nll.reserve(options_.max_epochs);
    result_.cavity_nll.reserve(options_.max_epochs);
    for (auto& misses : misses_) misses.reserve(rows());
    const bool all_here =
        std::all_of(batches_.begin(), batches_.end(), [](const Batch& b) { return b.here(); });
    result_.ledger_bytes = ledger_.bytes();
    while (!is_done()) {
      ++result_.epochs;
      const bool finished = run_epoch(result_.epochs);
      score_training();
      if (!finished) {
        result_.stopped = Stopped::interrupted;
        break;
      }
      if (options_.noise.learn && all_here) learn_noise();
      if (after_epoch) after_epoch(is_done());
    }
    if (ledger_.mode == LedgerMode::full) rebuild();
    result_.noise_variance = posterior_.noise_variance;
    if (options_.cavity_score) result_.cavity = score_cavity();
    for (std::size_t n = 0; n < cavity_predictions_.mean.size(); ++n) {
      cavity_predictions_.noise_variance.push_back(posterior_.noise_variance[n % outputs()]);
    }
    result_.cavity_predictions = std::move(cavity_predictions_);
    if (options_.certificate) result_.certificate = certify(result_.epochs);
    return std::move(result_);
  }

  FitState<T> state() const {
    return {posterior_,
            ledger_,
            noise_,
            result_.train_nll,
            result_.cavity_nll,
            cavity_predictions_.mean,
            cavity_predictions_.epistemic_variance};
  }

  void resume(FitState<T> state) {
    const std::size_t values = rows() * outputs();
    require(state.noise_variance.size() == outputs() && state.cavity_mean.size() == values &&
                state.cavity_variance.size() == values && !state.train_nll.empty() &&
                state.train_nll.size() == state.cavity_nll.size(),
            "the state to resume is that of another fit");
    std::vector<Batch> batches = std::move(batches_);
    batches_.clear();
    std::vector<std::size_t> batch_rows;
    for (const Batch& batch : batches) batch_rows.push_back(batch.count);
    restore(std::move(state.posterior), std::move(state.ledger), batch_rows);
    for (std::size_t b = 0; b < batches_.size(); ++b) batches_[b].first = batches[b].first;
    noise_ = std::move(state.noise_variance);
    result_ = {};
    result_.epochs = state.train_nll.size();
    result_.train_nll = std::move(state.train_nll);
    result_.cavity_nll = std::move(state.cavity_nll);
    cavity_predictions_ = {std::move(state.cavity_mean), std::move(state.cavity_variance), {}};
    resumed_ = true;
  }

  void forget(std::span<const std::size_t> batches) {
    require(ledger_.mode == LedgerMode::full,
            "only the ledger mode full can forget: the others do not keep what a batch said");
    for (const std::size_t batch : batches) require_batch(batch);
    for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) drop(*batch);
    rebuild();
  }

  double ledger_error() const {
    require(ledger_.mode == LedgerMode::full, "only the ledger mode full can be checked");
    double worst = 0;
    for (std::size_t k = 0; k < prior_rho_.size(); ++k) {
      double tau = static_cast<double>(prior_tau_[k]);
      double rho = static_cast<double>(prior_rho_[k]);
      double size = std::abs(tau);
      for (const auto& message : ledger_.messages) {
        if (message.rho.empty()) continue;
        tau += static_cast<double>(message.tau[k]);
        rho += static_cast<double>(message.rho[k]);
        size += std::abs(static_cast<double>(message.tau[k]));
      }
      worst = std::max({worst, std::abs(static_cast<double>(posterior_.rho[k]) / rho - 1),
                        std::abs(static_cast<double>(posterior_.tau[k]) - tau) / (size + rho)});
    }
    return worst;
  }

  std::size_t expected_bytes() const {
    return ledger_bytes(ledger_.mode, batches_.size(), prior_rho_.size(), sizeof(T));
  }

  Prediction learn(const Data& data) {
    require(ledger_.mode == LedgerMode::none && batches_.empty(),
            "learn() keeps nothing: it needs the ledger mode none, and no append()");
    data.validate(inputs(), outputs());
    if (running_noise_.empty()) begin_learning();
    take_rows(data);
    Prediction cavity;
    for (auto* numbers : {&cavity.mean, &cavity.epistemic_variance, &cavity.noise_variance}) {
      numbers->reserve(data.rows * outputs());
    }
    try {
      sweep_through(cavity);
    } catch (const NumericalBreakdown&) {
      drop_rows();
      throw;
    }
    drop_rows();
    for (std::size_t k = 0; k < cavity_rho_.size(); ++k) {
      cavity_rho_[k] = 1 / sweep_.variance()[k];
      cavity_tau_[k] = sweep_.mean()[k] * cavity_rho_[k];
    }
    if (const auto broken = improper_layer()) {
      throw NumericalBreakdown(*broken, calls_, data.rows - 1);
    }
    posterior_.tau.swap(cavity_tau_);
    posterior_.rho.swap(cavity_rho_);
    ++calls_;
    return cavity;
  }

  void stop_learning() {
    if (!options_.noise.learn) return;
    for (std::size_t k = 0; k < running_noise_.size(); ++k) {
      running_noise_[k].finish();
      posterior_.noise_variance[k] = running_noise_[k].noise();
    }
  }

  Certificate certify(const Data& data) {
    data.validate(inputs(), outputs());
    take_rows(data);
    Certificate certificate = certify_examples(rows());
    drop_rows();
    return certificate;
  }

  const Posterior<T>& posterior() const { return posterior_; }
  std::pair<Posterior<T>, Ledger<T>> release() {
    return {std::move(posterior_), std::move(ledger_)};
  }
  const Ledger<T>& ledger() const { return ledger_; }
  std::size_t batches() const { return batches_.size(); }

 private:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
  static constexpr T slack =
      64 * std::numeric_limits<T>::epsilon();  // of a precision, for rounding

  struct Batch {
    std::size_t first, count;  // first: nowhere if the rows are not here
    bool visited;

    bool here() const { return first != nowhere; }
  };

  void require_batch(std::size_t batch) const {
    require(batch < batches_.size(), "there is no batch " + std::to_string(batch) + ", only " +
                                         std::to_string(batches_.size()));
  }

  // Its message goes, the belief does not know yet.
  void drop(std::size_t batch) {
    const Batch gone = batches_[batch];
    if (gone.here()) erase_rows(gone);
    if (gone.visited) --visited_;
    ledger_.messages.erase(ledger_.messages.begin() + static_cast<std::ptrdiff_t>(batch));
    batches_.erase(batches_.begin() + static_cast<std::ptrdiff_t>(batch));
  }

  void take_rows(const Data& data) {
    for (const double value : data.inputs) inputs_.push_back(T(value));
    for (const double value : data.targets) targets_.push_back(T(value));
  }

  void erase_rows(const Batch& gone) {
    const auto erase = [&](std::vector<T>& values, std::size_t width) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(gone.first * width);
      values.erase(begin, begin + static_cast<std::ptrdiff_t>(gone.count * width));
    };
    erase(inputs_, inputs());
    erase(targets_, outputs());
    for (Batch& other : batches_) {
      if (other.here() && other.first > gone.first) other.first -= gone.count;
    }
  }

  static const Architecture& checked(const Architecture& architecture, const WeightPrior& prior,
                                     const TrainingOptions& options) {
    architecture.validate(options.rule);
    prior.validate(architecture);
    validate(options, architecture.outputs());
    return architecture;
  }

  void begin_fit() {
    for (auto& message : ledger_.messages) {
      message.tau.resize(prior_tau_.size());
      message.rho.resize(prior_rho_.size());
    }
    result_ = {};
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    cavity_predictions_ = {};
    cavity_predictions_.mean.assign(rows() * outputs(), unknown);
    cavity_predictions_.epistemic_variance.assign(rows() * outputs(), unknown);
  }

  // Whether the epochs so far meet a criterion; if so, notes which.
  bool is_done() {
    const std::vector<double>& nll = result_.train_nll;
    const std::size_t epochs = nll.size();
    if (epochs == 0) return false;
    if (options_.tolerance > 0 && epochs > 1) {
      const double last = nll[epochs - 2];
      if (std::abs(nll.back() - last) / std::max(1e-8, std::abs(last)) < options_.tolerance) {
        result_.stopped = Stopped::tolerance;
        return true;
      }
    }
    if (options_.patience > 0 && epochs_since_best() >= options_.patience) {
      result_.stopped = Stopped::patience;
      return true;
    }
    result_.stopped = Stopped::max_epochs;
    return epochs >= options_.max_epochs;
  }

  std::size_t epochs_since_best() const {
    double best = std::numeric_limits<double>::infinity();
    std::size_t best_epoch = 0;
    for (std::size_t n = 0; n < result_.train_nll.size(); ++n) {
      if (!(result_.train_nll[n] < best)) continue;
      best = result_.train_nll[n];
      best_epoch = n + 1;
    }
    return result_.train_nll.size() - best_epoch;
  }

  std::size_t inputs() const { return posterior_.architecture.inputs(); }
  std::size_t outputs() const { return posterior_.architecture.outputs(); }
  std::size_t rows() const { return inputs_.size() / inputs(); }
  std::span<const T> input(std::size_t row) const {
    return std::span(inputs_).subspan(row * inputs(), inputs());
  }
  std::span<const T> target(std::size_t row) const {
    return std::span(targets_).subspan(row * outputs(), outputs());
  }

  // The belief from the prior and all messages: every exchange of a message has rounded it a little.
  void rebuild() {
    std::vector<double> tau(prior_tau_.begin(), prior_tau_.end());
    std::vector<double> rho(prior_rho_.begin(), prior_rho_.end());
    for (const auto& message : ledger_.messages) {
      for (std::size_t k = 0; k < message.tau.size(); ++k) {
        tau[k] += static_cast<double>(message.tau[k]);
        rho[k] += static_cast<double>(message.rho[k]);
      }
    }
    bool proper = true;
    for (std::size_t k = 0; k < tau.size(); ++k) {
      posterior_.tau[k] = T(tau[k]);
      posterior_.rho[k] = T(rho[k]);
      proper = proper && std::isfinite(posterior_.tau[k]) && std::isfinite(posterior_.rho[k]) &&
               posterior_.rho[k] > 0;
    }
    require(proper, "the prior and the messages do not make a proper Gaussian");
  }

  // False if the progress callback asked to stop.
  bool run_epoch(std::size_t epoch) {
    for (std::size_t k = 0; k < outputs(); ++k) {
      noise_[k] = T(posterior_.noise_variance[k]);
      misses_[k].clear();
    }
    bool go_on = true;
    std::size_t b = 0;
    for (; b < batches_.size() && go_on; ++b) {
      if (!batches_[b].here()) continue;
      const bool from_belief = epoch >= options_.belief_from_epoch && batches_[b].visited &&
                               ledger_.mode != LedgerMode::none;
      set_cavity(b);
      if (from_belief) {
        sweep_from_belief(b);
      } else {
        sweep_from_cavity(b);
      }
      close_batch(b);
      go_on = !options_.progress || options_.progress({epoch, b + 1, batches_.size()});
    }
    result_.cavity_nll.push_back(options_.cavity_score ? score_cavity_of_batches(b)
                                                       : std::numeric_limits<double>::quiet_NaN());
    return go_on;
  }

  // The belief without the batch's old message. Where that was almost all the belief had, single precision may
  // not have the digits for what is left.
  void set_cavity(std::size_t b) {
    cavity_tau_ = posterior_.tau;
    cavity_rho_ = posterior_.rho;
    if (!batches_[b].visited) return;
    if (ledger_.mode == LedgerMode::full) {
      const auto& old = ledger_.messages[b];
      for (std::size_t k = 0; k < cavity_tau_.size(); ++k) {
        cavity_tau_[k] -= old.tau[k];
        cavity_rho_[k] -= old.rho[k];
      }
    } else if (ledger_.mode == LedgerMode::average) {
      const T share = T(1) / T(visited_);
      for (std::size_t k = 0; k < cavity_tau_.size(); ++k) {
        cavity_tau_[k] -= share * (posterior_.tau[k] - prior_tau_[k]);
        cavity_rho_[k] -= share * (posterior_.rho[k] - prior_rho_[k]);
      }
    }
    const auto lost =
        std::ranges::find_if(cavity_rho_, [](T precision) { return !(precision > 0); });
    if (lost != cavity_rho_.end())
      throw NumericalBreakdown(layer_of(lost - cavity_rho_.begin()), b, 0);
  }

  std::size_t layer_of(std::ptrdiff_t weight) const {
    std::size_t layer = 0;
    while (posterior_.architecture.offset(layer + 1) <= static_cast<std::size_t>(weight)) ++layer;
    return layer;
  }

  // The weights' moments, beside the cavity and what the sweep starts from.
  kernels::BatchBelief<T> working_belief() {
    return {.weights = prior_tau_.size(),
            .cavity_tau = cavity_tau_.data(),
            .cavity_rho = cavity_rho_.data(),
            .start_mean = start_mean_.data(),
            .start_variance = start_variance_.data(),
            .mean = sweep_.mean().data(),
            .variance = sweep_.variance().data()};
  }

  // The batch's message is all that the sweep's moments have beside the start's. It goes where the start was, and
  // the new belief where the cavity was; if it is a proper one, they change places with the old ones.
  void close_batch(std::size_t b) {
    assert(!above_prior_ || is_above_prior(cavity_rho_));
    const bool proper =
        kernels_->close_batch(working_belief(), {start_mean_.data(), start_variance_.data()},
                              {cavity_tau_.data(), cavity_rho_.data()});
    if (!proper) throw NumericalBreakdown(*improper_layer(), b, batches_[b].count - 1);
    posterior_.tau.swap(cavity_tau_);
    posterior_.rho.swap(cavity_rho_);
    assert(is_never_negative(start_variance_));
    if (ledger_.mode == LedgerMode::full) {
      ledger_.messages[b].tau.swap(start_mean_);
      ledger_.messages[b].rho.swap(start_variance_);
    }
    if (!batches_[b].visited) ++visited_;
    batches_[b].visited = true;
  }

  // Of a new belief that lies where the cavity was.
  std::optional<std::size_t> improper_layer() const {
    for (std::size_t k = 0; k < cavity_rho_.size(); ++k) {
      const bool proper =
          cavity_rho_[k] > 0 && std::isfinite(cavity_rho_[k]) && std::isfinite(cavity_tau_[k]);
      if (!proper) return layer_of(static_cast<std::ptrdiff_t>(k));
    }
    return std::nullopt;
  }

  void sweep_from_cavity(std::size_t b) {
    kernels_->open_batch(working_belief());
    const auto [first, count, visited] = batches_[b];
    const std::size_t last = first + count - 1;
    forward(sweep_, b, first);
    for (std::size_t row = first; row < last; ++row) {
      if (options_.cavity_score) keep_prediction(sweep_, row);
      advance(b, row);
    }
    if (options_.cavity_score) keep_prediction(sweep_, last);
    take_messages(b, last);
  }

  // q <- q m_new / m_old, example by example; the old message leaves in equal shares.
  void sweep_from_belief(std::size_t b) {
    cavity_sweep_.load(cavity_tau_, cavity_rho_);
    sweep_.load(posterior_.tau, posterior_.rho);
    const Batch batch = batches_[b];
    for (std::size_t row = batch.first; row < batch.first + batch.count; ++row) {
      if (options_.cavity_score) {
        forward(cavity_sweep_, b, row);
        keep_prediction(cavity_sweep_, row);
      }
      forward(sweep_, b, row);
      take_messages(b, row);
      take_out_old(T(1) / T(batch.count));
    }
    std::ranges::copy(cavity_sweep_.mean(), start_mean_.begin());
    std::ranges::copy(cavity_sweep_.variance(), start_variance_.begin());
  }

  // Divides a share of the old message out of the sweep's belief.
  void take_out_old(T share) {
    T* mean = sweep_.mean().data();
    T* variance = sweep_.variance().data();
    for (std::size_t k = 0; k < prior_tau_.size(); ++k) {
      const T precision = 1 / variance[k];
      const T tau = mean[k] * precision - share * (posterior_.tau[k] - cavity_tau_[k]);
      variance[k] = 1 / (precision - share * (posterior_.rho[k] - cavity_rho_[k]));
      mean[k] = tau * variance[k];
    }
  }

  void forward(detail::Sweep<T>& sweep, std::size_t b, std::size_t row) {
    const auto broken = sweep.forward(input(row));
    if (broken) throw NumericalBreakdown(*broken, b, row - batches_[b].first);
  }

  void take_messages(std::size_t b, std::size_t row) {
    const auto nothing = [](std::size_t, const auto&) {};
    const auto broken = sweep_.backward(target(row), noise_, nothing);
    if (broken) throw NumericalBreakdown(*broken, b, row - batches_[b].first);
  }

  // The same, and on to the next row.
  void advance(std::size_t b, std::size_t row) {
    const auto broken = sweep_.advance(target(row), noise_, input(row + 1));
    if (!broken) return;
    const std::size_t example = row - batches_[b].first + (broken->in_next ? 1 : 0);
    throw NumericalBreakdown(broken->layer, b, example);
  }

  void keep_prediction(const detail::Sweep<T>& sweep, std::size_t row) {
    for (std::size_t k = 0; k < outputs(); ++k) {
      cavity_predictions_.mean[row * outputs() + k] = static_cast<double>(sweep.output_mean()[k]);
      cavity_predictions_.epistemic_variance[row * outputs() + k] =
          static_cast<double>(sweep.output_variance()[k]);
    }
  }

  // The mean NLL of the cavity predictions of the first `count` batches; their misses, for the noise.
  double score_cavity_of_batches(std::size_t count) {
    NegativeLogDensity sum;
    for (std::size_t b = 0; b < count; ++b) {
      if (!batches_[b].here()) continue;
      const std::size_t first = batches_[b].first * outputs();
      for (std::size_t n = first; n < first + batches_[b].count * outputs(); ++n) {
        const std::size_t k = n % outputs();
        const double miss = static_cast<double>(targets_[n]) - cavity_predictions_.mean[n];
        const double variance = cavity_predictions_.epistemic_variance[n];
        sum.add(miss, variance + posterior_.noise_variance[k]);
        if (options_.noise.learn) misses_[k].push_back({miss * miss, variance});
      }
    }
    return sum.mean();
  }

  // The training log-likelihood under the belief as it is now (the paper's L_e).
  void score_training() {
    sweep_.load(posterior_.tau, posterior_.rho);
    const bool keep = options_.noise.learn && options_.noise.source == NoiseSource::training;
    if (keep) {
      for (auto& misses : misses_) misses.clear();
    }
    NegativeLogDensity sum;
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      if (!batches_[b].here()) continue;
      const std::size_t first = batches_[b].first;
      for (std::size_t row = first; row < first + batches_[b].count; ++row) {
        forward(sweep_, b, row);
        for (std::size_t k = 0; k < outputs(); ++k) {
          const auto mean = static_cast<double>(sweep_.output_mean()[k]);
          const auto variance = static_cast<double>(sweep_.output_variance()[k]);
          const double miss = static_cast<double>(target(row)[k]) - mean;
          sum.add(miss, variance + posterior_.noise_variance[k]);
          if (keep) misses_[k].push_back({miss * miss, variance});
        }
      }
    }
    result_.train_nll.push_back(sum.mean());
  }

  // Over the predictions of the last epoch, with the noise that was learnt from it.
  Metrics score_cavity() const {
    std::vector<double> targets;
    std::vector<double> means;
    std::vector<double> deviations;
    for (std::size_t n = 0; n < cavity_predictions_.mean.size(); ++n) {
      const double noise = posterior_.noise_variance[n % outputs()];
      if (std::isnan(cavity_predictions_.mean[n])) continue;
      targets.push_back(static_cast<double>(targets_[n]));
      means.push_back(cavity_predictions_.mean[n]);
      deviations.push_back(std::sqrt(cavity_predictions_.epistemic_variance[n] + noise));
    }
    return score(targets, means, deviations);
  }

  void learn_noise() {
    for (std::size_t k = 0; k < outputs(); ++k) {
      posterior_.noise_variance[k] = detail::most_likely_noise(misses_[k]);
    }
  }

  // Over evenly spaced examples, one for every 400 sweeps that the fit has made, but some.
  Certificate certify(std::size_t epochs) {
    constexpr std::size_t most_messages = 30'000;
    constexpr std::size_t few = 20;
    const std::size_t affordable = std::max<std::size_t>(1, most_messages / prior_rho_.size());
    const std::size_t share = std::max(few, rows() * epochs / 400);
    const std::size_t examples = std::min({rows(), affordable, share, std::size_t{200}});
    return certify_examples(examples);
  }

  // Over so many of the rows that are here, evenly spaced.
  Certificate certify_examples(std::size_t examples) {
    detail::CertificateCollector<T> collector(posterior_.architecture.layers());
    for (std::size_t n = 0; n < examples; ++n) {
      const std::size_t row = n * rows() / examples;
      sweep_.load(posterior_.tau, posterior_.rho);
      (void)sweep_.forward(input(row));
      (void)sweep_.backward(target(row), noise_,
                            [&](std::size_t l, const auto& layer) { collector.observe(l, layer); });
      collector.count_example();
    }
    return collector.finish(posterior_.architecture, posterior_.rho);
  }

  // Up to rounding, as below.
  bool is_above_prior(const std::vector<T>& rho) const {
    for (std::size_t k = 0; k < prior_rho_.size(); ++k) {
      if (rho[k] < prior_rho_[k] - slack * posterior_.rho[k]) return false;
    }
    return true;
  }

  bool is_never_negative(const std::vector<T>& message_rho) const {
    for (std::size_t k = 0; k < message_rho.size(); ++k) {
      if (message_rho[k] < -slack * posterior_.rho[k]) return false;
    }
    return true;
  }

  void begin_learning() {
    for (std::size_t k = 0; k < outputs(); ++k) {
      running_noise_.emplace_back(posterior_.noise_variance[k]);
      noise_[k] = T(posterior_.noise_variance[k]);
    }
  }

  // Rows of learn() and certify() are here for the time of the call only.
  void drop_rows() {
    inputs_.clear();
    targets_.clear();
  }

  // From the belief on, with the rows that are here; the belief is left as it was.
  void sweep_through(Prediction& cavity) {
    sweep_.load(posterior_.tau, posterior_.rho);
    if (rows() == 0) return;
    if (const auto broken = sweep_.forward(input(0))) throw NumericalBreakdown(*broken, calls_, 0);
    for (std::size_t row = 0; row < rows(); ++row) {
      record(cavity);
      learn_row(row);
      if (options_.noise.learn) learn_noise_from(cavity, row);
    }
  }

  // Backward, and forward to the next row if there is one.
  void learn_row(std::size_t row) {
    if (row + 1 < rows()) {
      const auto broken = sweep_.advance(target(row), noise_, input(row + 1));
      if (broken) throw NumericalBreakdown(broken->layer, calls_, row + (broken->in_next ? 1 : 0));
    } else {
      const auto broken = sweep_.backward(target(row), noise_, [](std::size_t, const auto&) {});
      if (broken) throw NumericalBreakdown(*broken, calls_, row);
    }
  }

  void record(Prediction& cavity) const {
    for (std::size_t k = 0; k < outputs(); ++k) {
      cavity.mean.push_back(static_cast<double>(sweep_.output_mean()[k]));
      cavity.epistemic_variance.push_back(static_cast<double>(sweep_.output_variance()[k]));
      cavity.noise_variance.push_back(posterior_.noise_variance[k]);
    }
  }

  void learn_noise_from(const Prediction& cavity, std::size_t row) {
    for (std::size_t k = 0; k < outputs(); ++k) {
      const double miss = static_cast<double>(target(row)[k]) - cavity.mean[row * outputs() + k];
      const double variance = cavity.epistemic_variance[row * outputs() + k];
      if (!running_noise_[k].add({miss * miss, variance})) continue;
      posterior_.noise_variance[k] = running_noise_[k].noise();
      noise_[k] = T(posterior_.noise_variance[k]);
    }
  }

  TrainingOptions options_;
  Posterior<T> posterior_;
  Ledger<T> ledger_;
  std::vector<detail::RunningNoise> running_noise_;  // by output; of learn()
  std::size_t calls_ = 0;                            // of learn()
  std::vector<T> prior_tau_, prior_rho_;
  std::vector<T> inputs_, targets_;
  std::vector<Batch> batches_;
  std::size_t visited_ = 0;  // batches whose message is in the belief
  bool above_prior_ = true;  // a belief that was restored from an odd file may not be
  const kernels::LayerKernels<T>* kernels_;
  detail::Sweep<T> sweep_, cavity_sweep_;
  std::vector<T> cavity_tau_, cavity_rho_, start_mean_, start_variance_, noise_;
  std::vector<std::vector<detail::Miss>> misses_;  // by output
  Prediction cavity_predictions_;
  FitResult result_;      // of the fit that runs
  bool resumed_ = false;  // result_ and cavity_predictions_ hold the epochs before
};

template <std::floating_point T>
Trainer<T>::Trainer(Architecture architecture, WeightPrior prior, TrainingOptions options)
    : state_(
          std::make_unique<State>(std::move(architecture), std::move(prior), std::move(options))) {}
template <std::floating_point T>
Trainer<T>::~Trainer() = default;
template <std::floating_point T>
Trainer<T>::Trainer(Trainer&&) noexcept = default;
template <std::floating_point T>
Trainer<T>& Trainer<T>::operator=(Trainer&&) noexcept = default;

template <std::floating_point T>
std::size_t Trainer<T>::append(const Data& data) {
  return state_->append(data);
}
template <std::floating_point T>
void Trainer<T>::restore(Posterior<T> posterior, Ledger<T> ledger,
                         std::span<const std::size_t> batch_rows) {
  state_->restore(std::move(posterior), std::move(ledger), batch_rows);
}
template <std::floating_point T>
void Trainer<T>::attach(std::size_t batch, const Data& rows) {
  state_->attach(batch, rows);
}
template <std::floating_point T>
FitResult Trainer<T>::fit(const std::function<void(bool)>& after_epoch) {
  return state_->fit(after_epoch);
}
template <std::floating_point T>
FitState<T> Trainer<T>::state() const {
  return state_->state();
}
template <std::floating_point T>
void Trainer<T>::resume(FitState<T> state) {
  state_->resume(std::move(state));
}
template <std::floating_point T>
void Trainer<T>::forget(std::size_t batch) {
  state_->forget({&batch, 1});
}
template <std::floating_point T>
void Trainer<T>::forget(std::span<const std::size_t> batches) {
  state_->forget(batches);
}
template <std::floating_point T>
Prediction Trainer<T>::learn(const Data& rows) {
  return state_->learn(rows);
}
template <std::floating_point T>
void Trainer<T>::stop_learning() {
  state_->stop_learning();
}
template <std::floating_point T>
Certificate Trainer<T>::certify(const Data& rows) {
  return state_->certify(rows);
}
template <std::floating_point T>
const Posterior<T>& Trainer<T>::posterior() const {
  return state_->posterior();
}
template <std::floating_point T>
std::pair<Posterior<T>, Ledger<T>> Trainer<T>::release() {
  return state_->release();
}
template <std::floating_point T>
const Ledger<T>& Trainer<T>::ledger() const {
  return state_->ledger();
}
template <std::floating_point T>
std::size_t Trainer<T>::batches() const {
  return state_->batches();
}
template <std::floating_point T>
std::size_t Trainer<T>::expected_ledger_bytes() const {
  return state_->expected_bytes();
}
template <std::floating_point T>
double Trainer<T>::ledger_error() const {
  return state_->ledger_error();
}

template <std::floating_point T>
Mixture<T> fit_mixture(const Architecture& architecture, std::span<const std::uint64_t> seeds,
                       const Data& data, const TrainingOptions& options, std::size_t threads) {
  require(!seeds.empty(), "a mixture needs at least one seed");
  Mixture<T> mixture;
  mixture.members.resize(seeds.size());
  mixture.results.resize(seeds.size());
  detail::parallel_for(seeds.size(), threads, [&](std::size_t m) {
    Trainer<T> trainer(architecture, draw_prior(architecture, seeds[m]), options);
    trainer.append(data);
    mixture.results[m] = trainer.fit();
    mixture.members[m] = trainer.posterior();
  });
  return mixture;
}

template class Trainer<float>;
template class Trainer<double>;
template Mixture<float> fit_mixture(const Architecture&, std::span<const std::uint64_t>,
                                    const Data&, const TrainingOptions&, std::size_t);
template Mixture<double> fit_mixture(const Architecture&, std::span<const std::uint64_t>,
                                     const Data&, const TrainingOptions&, std::size_t);

}  // namespace dma
