// belief/trainer.h: Algorithm 1 of the paper (App. D), and what it needs in practice.
//
//   dma::Architecture network{.widths = {8, 6, 5, 1}, .slopes = {0.4, 0.8}};
//   dma::Trainer<double> trainer(network, dma::draw_prior(network, 1), {.rule = dma::Rule::linear});
//   trainer.append({inputs, targets, rows});
//   const auto result = trainer.fit();
//   auto prediction = dma::predict(trainer.posterior(), new_inputs, new_rows);
//
// For each mini-batch: divide its old message out of the belief (the cavity), then, example by
// example, one forward sweep, one backward sweep, and the belief takes the new messages at once; what
// the belief has gained over the cavity becomes the batch's message.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <dma/belief/certificate.h>
#include <dma/belief/ledger.h>
#include <dma/belief/posterior.h>
#include <dma/data/data.h>
#include <dma/factors/factor.h>
#include <dma/layers/architecture.h>
#include <dma/metrics/metrics.h>

namespace dma {

enum class NoiseSource {
  cavity,    // examples scored before their batch has spoken: what a held-out set would say
  training,  // examples scored by the belief that contains them
};

struct NoiseOptions {
  std::vector<double> variance = {0.04};  // per output, or one for all; where learning starts
  bool learn = false;  // after each epoch: the variance of the largest likelihood
  NoiseSource source = NoiseSource::cavity;
};

inline constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

struct Progress {
  std::size_t epoch;  // from 1
  std::size_t batch;  // done in this epoch
  std::size_t batches;
};

struct TrainingOptions {
  Rule rule = Rule::linear;
  std::size_t batch_size = 20;
  std::size_t max_epochs = 200;
  // Stop when the training log-likelihood changed by less than this share (the paper: 0.1); 0: never.
  double tolerance = 0.1;
  // Stop when the training NLL has not improved on the best for this many epochs; 0: never.
  std::size_t patience = 0;
  // From this epoch on (the first is 1), messages are computed from the full belief instead of the
  // cavity, and replace the old ones example by example (posterior linearisation).
  std::size_t belief_from_epoch = never;
  LedgerMode ledger = LedgerMode::full;
  NoiseOptions noise = {};
  bool readable_kernel = false;  // the scalar kernel that calls the factor library; for tests
  // What a fit says about itself; off only to measure what saying it costs.
  bool certificate = true;
  bool cavity_score = true;  // off: the cavity's scores and predictions are NaN
  // Called after every batch; false stops training there, cleanly.
  std::function<bool(const Progress&)> progress = {};
};

enum class Stopped { tolerance, patience, max_epochs, interrupted };
std::string_view name_of(Stopped stopped);

struct FitResult {
  std::size_t epochs = 0;
  Stopped stopped = Stopped::max_epochs;
  std::vector<double> train_nll;  // per epoch, mean per value, under the belief after it
  std::vector<double> cavity_nll;
  Metrics cavity;  // of the last epoch
  // Each example predicted while its batch was out of the belief, before its own update: what a held-out
  // set would say, without one and at no extra sweep. Rows x outputs, in the order of append(); NaN where
  // a batch was not visited or its rows are not here.
  Prediction cavity_predictions;
  std::vector<double> noise_variance;
  std::size_t ledger_bytes = 0;
  Certificate certificate;
};

// Where a fit stands between two epochs.
template <std::floating_point T>
struct FitState {
  Posterior<T> posterior;
  Ledger<T> ledger;
  std::vector<T> noise_variance;                     // that the last epoch was swept with
  std::vector<double> train_nll, cavity_nll;         // of the epochs so far
  std::vector<double> cavity_mean, cavity_variance;  // see FitResult::cavity_predictions
};

// A number stopped being finite, or a variance positive: with standardised data it should not happen.
// The posterior is the one before the batch.
struct NumericalBreakdown : std::runtime_error {
  NumericalBreakdown(std::size_t in_layer, std::size_t in_batch, std::size_t in_example);
  std::size_t layer, batch, example;
};

template <std::floating_point T>
class Trainer {
 public:
  // Throws NetworkError if an argument cannot be used.
  Trainer(Architecture architecture, WeightPrior prior, TrainingOptions options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  // Copies the rows and splits them into batches of batch_size, in order, the last one of what is left;
  // they are learnt in the next fit().
  // Returns the number of the first new batch.
  std::size_t append(const Data& data);
  // Goes on from an earlier fit, before anything is appended: batch b held batch_rows[b] rows. Their
  // messages stand, but the rows are not here, so fit() passes the batches over.
  void restore(Posterior<T> posterior, Ledger<T> ledger, std::span<const std::size_t> batch_rows);
  // Gives a restored batch its rows again, so that fit() sweeps it.
  void attach(std::size_t batch, const Data& rows);
  // Epochs over all batches whose rows are here, until a criterion is met. The noise is learnt only if
  // that is all of them. `after_epoch` hears after every epoch that was not interrupted whether it was the last.
  FitResult fit(const std::function<void(bool last)>& after_epoch = {});
  // For after_epoch.
  FitState<T> state() const;
  // The next fit() goes on from there, and ends with the same bits as one that was never stopped. To be
  // called on a new trainer after the same append(), with the same prior and options.
  void resume(FitState<T> state);
  // Learns rows that are not kept, for data that do not fit into memory: one sweep, example by example. Returns
  // what was predicted of each before its own update. Mode none only; nothing may have been appended. If the noise
  // is learnt, then on the way (src/likelihood/noise.h), and stop_learning() takes the last rows into account.
  // NumericalBreakdown counts the calls as batches.
  Prediction learn(const Data& rows);
  void stop_learning();
  // Of the belief as it is, over these rows.
  Certificate certify(const Data& rows);
  // Takes a batch's message out of the belief and drops the batch; later ones move up. What stays is put together anew,
  // so that nothing of a large message is left by rounding. Mode full only.
  void forget(std::size_t batch);
  // The same of several, in ascending order.
  void forget(std::span<const std::size_t> batches);

  const Posterior<T>& posterior() const;
  const Ledger<T>& ledger() const;
  // Hands both over; nothing but the destructor may be called afterwards.
  std::pair<Posterior<T>, Ledger<T>> release();
  std::size_t batches() const;
  // What the ledger will hold when every batch has been visited.
  std::size_t expected_ledger_bytes() const;
  // The largest relative difference between the posterior and prior x ledger. Mode full only.
  double ledger_error() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Posteriors from several draws of the prior means, to be predicted as one (belief/posterior.h).
template <std::floating_point T>
struct Mixture {
  std::vector<Posterior<T>> members;
  std::vector<FitResult> results;
};

// One member per seed of draw_prior(), fitted to the same data; `threads` at a time, 0 for all cores.
// The bits do not depend on the number of threads.
template <std::floating_point T>
Mixture<T> fit_mixture(const Architecture& architecture, std::span<const std::uint64_t> seeds,
                       const Data& data, const TrainingOptions& options, std::size_t threads = 1);

}  // namespace dma
