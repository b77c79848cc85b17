// regressor/regressor.h: fits a table and predicts with uncertainty.
//
//   auto model = dma::Regressor::fit(dma::read_csv("train.csv"), {.target = "y"});
//   for (const auto& p : model.predict(dma::read_csv("new.csv"))) fmt::print("{} ± {}\n", p.mean, p.stddev());
//   model.save("model.safetensors");
//
// A table that cannot be used throws DataError, a model file ModelError, an option NetworkError. A prediction that is
// not finite throws NoPrediction, and a fit whose numbers overflow throws NumericalBreakdown. A joint belief in whose
// precision some rows drown all others throws NetworkError, at the first prediction if a file holds its rows alone. After
// any of these the model is as it was before.
//
// The same table, options and seed give the same bits, whatever the number of threads and the order of the columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dma/data/table.h>
#include <dma/metrics/conformal.h>
#include <dma/regressor/model.h>
#include <dma/regressor/model_file.h>

namespace dma {

struct FitProgress {
  std::size_t member, members;  // the member that reports; several run at once
  std::size_t epoch, epochs;    // epochs: the maximum
  std::size_t batch, batches;
  double share;  // of the work, if no member settles before its last epoch; never falls
};
// Called after batches, one call at a time, from any thread; false stops the fit cleanly.
using OnProgress = std::function<bool(const FitProgress&)>;

// Where a fit saves its progress, for a process that may be killed. If the file exists, the fit resumes from it and
// ends with the same bits as one that was never stopped; a file of other rows or options is a ModelError. The file is
// not deleted at the end.
struct Checkpoint {
  std::filesystem::path path = {};  // empty: nothing is kept
  double seconds = 10;              // between two writes; 0: after every epoch
  // Called with one line when the fit resumes from the file, or when the file can no longer be written; without it, the
  // latter throws ModelError. One call at a time, from any thread.
  std::function<void(const std::string&)> say = {};
};

// How far predictions are from other predictions of the same rows.
struct Distance {
  std::size_t rows = 0;
  // Mean of |mean - other mean| / other deviation; of classes: of the probability that is elsewhere.
  double mean_shift = 0;
  double largest_shift = 0;
  double mean_std_ratio = 1;  // geometric mean of deviation / other deviation; of classes 1
};

struct ChangeReport {
  std::size_t rows_added = 0;
  std::size_t rows_without_target = 0;  // new rows that were left out
  std::size_t rows_without_weight = 0;  // new rows that were left out: their weight is 0
  std::size_t rows_known = 0;     // new rows that the model had learnt before: they count again
  std::size_t rows_removed = 0;   // rows to forget
  std::size_t copies_left = 0;    // rows like these that stay learnt
  std::size_t rows_lost = 0;      // others of the same batches that are lost
  std::size_t rows_put_back = 0;  // others of the same batches that were learnt again
  std::vector<std::size_t> batches_removed = {};
  std::size_t batches_reduced = 0;  // of which some copies of a row stay
  std::size_t batches_added = 0;
  std::size_t batches_swept = 0;
  std::size_t epochs = 0;
  Stopped stopped = Stopped::max_epochs;
  std::string moved_on;                   // which rows `moved` was measured on
  Distance moved = {};                    // from the predictions before
  std::optional<Distance> compared = {};  // from those of a new fit
  double new_rows_nll = 0;                // of the added rows, before they were learnt
  std::vector<UnseenCells> unlike = {};   // cells of the added rows that were not as in training
  // Targets that were assumed to have bounds, and of which a new row lies beyond them: they have none from now on.
  std::vector<std::string> unbounded = {};
  double seconds = 0;
};

struct ChangeOptions {
  const Table* data = nullptr;  // the training rows, in any order: old batches are swept too
  bool compare = false;         // also fit again, and report the distance; needs data
  OnProgress progress = {};
};

// How much of what the function says is due to a column.
struct ColumnShare {
  std::string column;
  double share;  // of the function's variance over rows; those of all columns sum to 1
  double lower,
      upper;  // nine tenths of the functions that the belief considers possible are in between
};

// Which intervals: as the model says, or as wide as they have to be by rows that were not learnt (calibrated_tails()).
enum class Intervals { model, calibrated };

class Regressor {
 public:
  explicit Regressor(Model model);

  static Regressor fit(Table table, const RegressorOptions& options,
                       const OnProgress& progress = {}, const Checkpoint& checkpoint = {});
  // All parts as one (regressor/merging.h). The names say in an error which of them is meant; empty: by number, from 1.
  static Regressor merge(std::span<const Regressor> parts, std::span<const std::string> names = {});
  // Takes an encoder from encoder_for(), for callers that inspect it first.
  static Regressor fit(Table table, Encoder encoder, const RegressorOptions& options,
                       const OnProgress& progress = {}, const Checkpoint& checkpoint = {});
  // If the kind is automatic and the target a positive number, this fits a small network twice, to tell an amount from a
  // number.
  static Encoder encoder_for(const Table& table, const RegressorOptions& options);

  // Returns rows x targets, in the targets' own units. The number of threads does not change the numbers; 0: all cores.
  std::vector<Predicted> predict(const Table& table, std::size_t threads = 0) const;
  // The same for inputs already encoded by encoder(), row-major.
  std::vector<Predicted> predict_encoded(const std::vector<double>& inputs, std::size_t rows,
                                         std::size_t threads = 0) const;
  // With what is said of unseen cells (EncodedRows::unseen), as by predict().
  std::vector<Predicted> predict_encoded(const EncodedRows& rows, std::size_t threads = 0) const;

  // The central interval of the prediction of this target, as wide as it has to be by rows that were not learnt
  // (metrics/conformal.h). Throws DataError if the model knows too few such rows, or no number or amount is predicted.
  Tails calibrated_tails(double level, std::size_t target = 0) const;
  // Of all levels that are scored (Metrics::curve_levels).
  std::vector<Tails> calibrated_curve(std::size_t target = 0) const;
  // From now on these rows, which must not have been learnt, say how wide that is.
  void calibrate_intervals(const Table& table);
  // Other bounds of the predicted numbers; those of the model itself were assumed or given to the fit.
  void set_bounds(const Bounds& bounds);

  // Draws targets from the belief: count x rows x targets, in their own units. Each draw is one function of one member,
  // so its values at several rows belong together; with noise, it is what could be observed. A class is its place.
  std::vector<double> sample(const Table& table, std::size_t count, std::uint64_t seed,
                             bool noise = true) const;

  // Scores the predictions: one entry per target. Rows without a target are left out. Weighted, if the table has weights
  // or the column of weights that the model was fitted with. Calibrated: coverage is that of calibrated intervals; throws as
  // calibrated_tails().
  std::vector<Metrics> evaluate(const Table& table, std::size_t threads = 0,
                                Intervals intervals = Intervals::model) const;

  // Rows that are alike, feature by feature and target by target, are kept once and count together: a table that has each
  // row twice is learnt like one that has each row once with the weight 2.

  // Learns new rows as new batches. Without the training rows the old messages stay as they are; with them the old
  // batches are swept too and the noise is learnt again.
  ChangeReport update(const Table& table, const ChangeOptions& options = {});
  // Divides out the messages of the batches that contain the rows. Of a row that was there several times, as many copies go
  // as there are here, each with an equal share of the row's weight. Without the training rows whole batches are
  // forgotten; with them, the other rows are put back and everything is swept again.
  ChangeReport forget_rows(const Table& table, const ChangeOptions& options = {});
  ChangeReport forget_batch(std::size_t batch, const ChangeOptions& options = {});

  // Which columns matter: for every target the shares of the feature columns in the variance of the predicted function over
  // these rows, the largest first (src/regressor/importance.cc). A column with several inputs counts as one; an interaction
  // counts for its columns in equal parts. A column that works against others, with which it goes along, may be below 0.
  // Of an amount and of a count the function is the logarithm, of a class its probability. No rows: those of training, if
  // the ledger holds them; otherwise the result is empty.
  std::vector<std::vector<ColumnShare>> column_importance(const Table* rows = nullptr,
                                                          std::size_t threads = 0) const;

  // The bytes of the model file.
  std::vector<std::byte> to_bytes() const;
  static Regressor from_bytes(std::span<const std::byte> bytes);
  // Writes atomically: the file is either the old or the new one, complete.
  void save(const std::filesystem::path& path, const SaveOptions& options = {}) const;
  static Regressor load(const std::filesystem::path& path);

  const Model& model() const { return model_; }
  const Encoder& encoder() const { return model_.encoder; }
  const FitReport& report() const { return model_.report; }

 private:
  struct Lazy;

  void set_model(Model model);

  Model model_;
  // What predicting needs besides the model: made once, on first use, and shared by copies.
  std::shared_ptr<Lazy> lazy_;
};

}  // namespace dma
