// belief/belief.h: what is known of a network's weights, and how it changes.
//
//   posterior = prior x what every batch of rows has told the weights
//
// What the batches said is kept in the ledger (ledger.h), so that it can be replaced and taken out again. There
// are two implementations of the concept: independent.h, where every weight has a Gaussian of its own (Algorithm 1
// of the paper), and joint.h, where all weights of a network have one. Whoever holds a Belief need not know which:
//
//   belief.append({inputs, targets, rows});                   rows come
//   const FitResult result = belief.fit();                    and are learnt
//   result.cavity_predictions                                 each row predicted without what it said itself
//   belief.predictor()->predict(new_inputs, new_rows)         the function and its noise
//   belief.forget(batches)                                    as if they had never been there
//   Arrays stored = belief.store()                            all that is known, as numbers
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <dma/base/arrays.h>
#include <dma/belief/certificate.h>
#include <dma/belief/ledger.h>
#include <dma/belief/predictor.h>
#include <dma/data/data.h>
#include <dma/layers/architecture.h>
#include <dma/likelihood/gaussian.h>
#include <dma/metrics/metrics.h>

namespace dma {

struct Progress {
  std::size_t epoch;   // from 1
  std::size_t epochs;  // at most so many
  std::size_t batch;   // done in this epoch
  std::size_t batches;
};

// What every belief understands; the rest are the options of each.
struct TrainingOptions {
  std::size_t batch_size = 20;  // rows that come and go together
  // Maximum passes over the rows, whatever is learnt in them. 0: as many as the belief usually takes.
  std::size_t max_epochs = 0;
  // An epoch has settled if it changes the fit by less than this, in nats per target: the training log-likelihood, or
  // for a joint belief the density of the posterior. So many settled epochs in a row end the fit. 0 in either: none do.
  double tolerance = 1e-4;
  std::size_t patience = 3;
  LedgerMode ledger = LedgerMode::full;
  std::shared_ptr<const Likelihood> likelihood = gaussian();
  // Called after every batch; false stops training there, cleanly.
  std::function<bool(const Progress&)> progress = {};
};

// tolerance     the fit has settled
// patience      no longer used: in models of older versions
// max_epochs    the epochs were used up
// interrupted   the progress callback said so
// time          the time was used up
enum class Stopped { tolerance, patience, max_epochs, interrupted, time };
std::string_view name_of(Stopped stopped);

struct FitResult {
  std::size_t epochs = 0;
  Stopped stopped = Stopped::max_epochs;
  // Training NLL after each epoch that learnt the function, mean per value. A joint belief takes it at its mean weights.
  std::vector<double> train_nll;
  std::vector<double>
      cavity_nll;  // the same of the cavity predictions; empty: only known at the end
  Metrics cavity;  // of the last epoch
  // Each example predicted without what it told the weights: what a held-out set would say, without one. Rows x
  // targets, in the order of the batches whose rows are here; NaN where a batch was not visited.
  Prediction cavity_predictions;
  std::size_t ledger_bytes = 0;
  Certificate certificate;
};

// Moments of every weight on its own, in the flat order of the architecture.
struct WeightMoments {
  std::vector<double> mean, variance, prior_variance;
};

// What the inputs were in the rows that were learnt; empty if that is not known.
struct InputRange {
  std::vector<double> low = {}, high = {};
};

class Belief {
 public:
  virtual ~Belief() = default;
  // Copies the belief without its rows, to be trained further with these options.
  virtual std::unique_ptr<Belief> copy(TrainingOptions options) const = 0;

  virtual const Architecture& architecture() const = 0;
  virtual const Likelihood& likelihood() const = 0;  // as far as it is learnt
  std::size_t inputs() const { return architecture().inputs(); }
  std::size_t outputs() const { return architecture().outputs(); }

  // Copies the rows and splits them into batches of batch_size, in order, the last one of what is left;
  // they are learnt in the next fit(). Returns the number of the first new batch.
  virtual std::size_t append(const Data& rows) = 0;
  // Gives a batch whose rows are not here its rows again, so that fit() learns from them anew.
  virtual void attach(std::size_t batch, const Data& rows) = 0;
  // Epochs over all batches whose rows are here, until a criterion is met; what the others said stands. What the
  // likelihood learns is learnt only if all are here. `after_epoch` hears after an epoch that was not interrupted whether it was the last.
  virtual FitResult fit(const std::function<void(bool last)>& after_epoch = {}) = 0;
  // To be called in after_epoch: everything fit() has reached and cannot compute again.
  virtual Arrays fit_state() const = 0;
  // The next fit() goes on from there, and ends with the same bits as one that was never stopped. To be called on a
  // new belief after the same append(), with the same options.
  virtual void resume(Arrays state) = 0;
  // Takes what these batches said, in ascending order, out of the belief, and drops them; later ones move up. What
  // stays is put together anew, so that nothing of a large message is left by rounding.
  virtual void forget(std::span<const std::size_t> batches) = 0;
  void forget(std::size_t batch) { forget({&batch, 1}); }
  // Of what a batch said only this share stays, between 0 and 1: some of the copies go that its row stands for.
  virtual void reduce(std::size_t batch, double share) = 0;
  virtual std::size_t batches() const = 0;

  virtual std::unique_ptr<Predictor> predictor() const = 0;
  // `count` functions drawn from the belief, each evaluated at all rows: count x rows x outputs.
  virtual std::vector<double> sample_functions(std::span<const double> inputs, std::size_t rows,
                                               std::size_t count, std::uint64_t seed) const = 0;
  virtual WeightMoments weights() const = 0;
  virtual InputRange seen_inputs() const { return {}; }
  // Of the rows that the ledger holds, row-major; empty if it does not hold them.
  virtual std::span<const double> learnt_inputs() const { return {}; }
  virtual std::size_t ledger_bytes() const = 0;

  // Everything that is known, to be given to the constructor of the same kind of belief.
  virtual Arrays store() const = 0;
  // The belief becomes one that knows what it knows, and not from whom: no batch can be forgotten.
  virtual void drop_ledger() = 0;
};

// What a stored belief has to be told beside its arrays.
struct Heard {
  std::vector<std::size_t> batch_rows = {};  // rows of each batch of its ledger
  bool all = true;                           // there were no others
};

}  // namespace dma
