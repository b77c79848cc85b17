// belief/independent.h: every weight on its own: Algorithm 1 of the paper (App. D), and what it needs in practice.
//
//   dma::Architecture network{.widths = {8, 6, 5, 1}, .slopes = {0.4, 0.8}};
//   dma::IndependentBelief<double> belief(network, dma::draw_prior(network, 1));
//   belief.append({inputs, targets, rows});
//   const auto result = belief.fit();
//   const auto prediction = dma::predict(belief.posterior(), new_inputs, new_rows);
//   belief.forget(0);
//
// For each mini-batch: divide its old message out of the belief (the cavity), then, example by
// example, one forward sweep, one backward sweep, and the belief takes the new messages at once; what
// the belief has gained over the cavity becomes the batch's message.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include <dma/belief/belief.h>
#include <dma/belief/posterior.h>
#include <dma/factors/factor.h>

namespace dma {

enum class NoiseSource {
  cavity,    // examples scored before their batch has spoken: what a held-out set would say
  training,  // examples scored by the belief that contains them
};

inline constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

struct IndependentOptions {
  Rule rule = Rule::linear;
  // The paper's rule (App. D): stop when the training log-likelihood changed by less than this share, 0.1 there;
  // 0: by TrainingOptions only.
  double relative_tolerance = 0;
  // From this epoch on (the first is 1), messages are computed from the full belief instead of the
  // cavity, and replace the old ones example by example (posterior linearisation).
  std::size_t belief_from_epoch = never;
  // Noise that is learnt becomes, after each epoch, that of the largest likelihood.
  NoiseSource noise_source = NoiseSource::cavity;
  // The likelihood's message of every row counts so many times: above 1 the posterior is colder, below 1 warmer.
  double likelihood_power = 1;
  bool readable_kernel = false;  // the scalar kernel that calls the factor library; for tests
  // What a fit says about itself; off only to measure what saying it costs.
  bool certificate = true;
  bool cavity_score = true;  // off: the cavity's scores and predictions are NaN
};

// A number stopped being finite, or a variance positive: with standardised data it should not happen.
// The posterior is the one before the batch.
struct NumericalBreakdown : std::runtime_error {
  NumericalBreakdown(std::size_t in_layer, std::size_t in_batch, std::size_t in_example);
  std::size_t layer, batch, example;
};

template <std::floating_point T>
class IndependentBelief final : public Belief {
 public:
  // Throws NetworkError if an argument cannot be used.
  IndependentBelief(const Architecture& architecture, WeightPrior prior,
                    TrainingOptions options = {}, IndependentOptions own = {});
  // A stored one. Its messages stand; the rows are not here. A fit computes messages from the full belief at once.
  IndependentBelief(const Architecture& architecture, Arrays stored, const Heard& heard,
                    TrainingOptions options = {}, IndependentOptions own = {});
  ~IndependentBelief() override;
  IndependentBelief(IndependentBelief&&) noexcept;
  IndependentBelief& operator=(IndependentBelief&&) noexcept;

  std::unique_ptr<Belief> copy(TrainingOptions options) const override;
  const Architecture& architecture() const override;
  const Likelihood& likelihood() const override;
  std::size_t append(const Data& rows) override;
  void attach(std::size_t batch, const Data& rows) override;
  FitResult fit(const std::function<void(bool last)>& after_epoch = {}) override;
  Arrays fit_state() const override;
  void resume(Arrays state) override;
  using Belief::forget;
  // Needs the ledger mode full.
  void forget(std::span<const std::size_t> batches) override;
  void reduce(std::size_t batch, double share) override;
  std::size_t batches() const override;
  std::unique_ptr<Predictor> predictor() const override;
  std::vector<double> sample_functions(std::span<const double> inputs, std::size_t rows,
                                       std::size_t count, std::uint64_t seed) const override;
  WeightMoments weights() const override;
  std::size_t ledger_bytes() const override;
  Arrays store() const override;
  void drop_ledger() override;

  // Learns rows that are not kept, for data that do not fit into memory: one sweep, example by example. Returns
  // what was predicted of each before its own update; nothing without cavity_score. Mode none only; nothing may have
  // been appended. If the noise is learnt, then on the way (src/likelihood/noise.h), and stop_learning() takes the last
  // rows into account. NumericalBreakdown counts the calls as batches.
  Prediction learn(const Data& rows);
  void stop_learning();
  // Certifies the belief as it is, over these rows.
  Certificate certify(const Data& rows);

  const WeightPrior& prior() const;
  const Posterior<T>& posterior() const;
  const Ledger<T>& ledger() const;
  // What the ledger will hold when every batch has been visited.
  std::size_t expected_ledger_bytes() const;
  // The largest relative difference between the posterior and prior x ledger. Mode full only.
  double ledger_error() const;

 private:
  class State;
  IndependentBelief(const IndependentBelief& other, TrainingOptions options);

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
                       const Data& data, const TrainingOptions& options,
                       const IndependentOptions& own = {}, std::size_t threads = 1);

}  // namespace dma
