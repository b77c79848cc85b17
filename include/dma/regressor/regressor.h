// regressor/regressor.h: what a user holds: a table in, predictions that say how sure they are out.
//
//   auto model = dma::Regressor::fit(dma::read_csv("train.csv"), {.target = "y"});
//   for (const auto& p : model.predict(dma::read_csv("new.csv"))) fmt::print("{} ± {}\n", p.mean, p.stddev());
//   model.save("model.safetensors");
//
// A table that cannot be used is a DataError, a model file a ModelError, an option a NetworkError; rows of which a
// prediction is not finite are a NoPrediction, and a fit that leaves the range of numbers is a NumericalBreakdown. A
// change that ends with one of these leaves the model as it was.
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
#include <dma/regressor/model.h>

namespace dma {

struct FitProgress {
  std::size_t member, members;  // the one that reports; several run at once
  std::size_t epoch, epochs;    // epochs: at most so many
  std::size_t batch, batches;
};
// Called after batches, one call at a time, from any thread; false stops the fit there, cleanly.
using OnProgress = std::function<bool(const FitProgress&)>;

// Where a fit keeps what it has reached, for a process that may be killed. If the file is there, the fit goes on
// from it and ends with the same bits as one that was never stopped; a file of another fit, of other rows or
// options, is a ModelError. At the end the file is still there.
struct Checkpoint {
  std::filesystem::path path = {};  // empty: nothing is kept
  double seconds = 10;              // from one writing to the next; 0: after every epoch
  // Hears in one line that the fit goes on from the file, or that it can no longer be written; without it, the
  // latter ends the fit with a ModelError. One call at a time, from any thread.
  std::function<void(const std::string&)> say = {};
};

// How far predictions lie from other predictions of the same rows.
struct Distance {
  std::size_t rows = 0;
  double mean_shift = 0;  // mean of |mean - other mean| / other deviation
  double largest_shift = 0;
  double mean_std_ratio = 1;  // geometric mean of deviation / other deviation
};

struct ChangeReport {
  std::size_t rows_added = 0;
  std::size_t rows_without_target = 0;  // of the new ones; left out
  std::size_t rows_removed = 0;         // that were asked to go
  std::size_t rows_lost =
      0;  // that went because they shared a batch with those, and could not come back
  std::size_t rows_put_back = 0;  // that shared a batch with those and were learnt again
  std::vector<std::size_t> batches_removed = {};
  std::size_t batches_added = 0;
  std::size_t batches_swept = 0;
  std::size_t epochs = 0;
  Stopped stopped = Stopped::max_epochs;
  std::string moved_on;                   // which rows `moved` was measured on
  Distance moved = {};                    // from the predictions before
  std::optional<Distance> compared = {};  // from those of a model fitted anew
  double new_rows_nll = 0;                // of the rows added, as predicted before they were learnt
  double seconds = 0;
};

struct ChangeOptions {
  const Table* data = nullptr;  // the training rows (in any order): old batches are swept too
  bool compare = false;         // also fit anew, and report the distance; needs data
  OnProgress progress = {};
};

class Regressor {
 public:
  explicit Regressor(Model model);

  static Regressor fit(Table table, const RegressorOptions& options,
                       const OnProgress& progress = {}, const Checkpoint& checkpoint = {});
  // With an encoder from encoder_for(), for those who want to see it first.
  static Regressor fit(Table table, Encoder encoder, const RegressorOptions& options,
                       const OnProgress& progress = {}, const Checkpoint& checkpoint = {});
  static Encoder encoder_for(const Table& table, const RegressorOptions& options);

  // Rows x targets, in the targets' own units. The same numbers whatever the number of threads; 0: all cores.
  std::vector<Predicted> predict(const Table& table, std::size_t threads = 0) const;
  // Of inputs already encoded by encoder(): row-major.
  std::vector<Predicted> predict_encoded(const std::vector<double>& inputs, std::size_t rows,
                                         std::size_t threads = 0) const;

  // Targets drawn from the belief: count x rows x targets, in their own units. Each draw is one function of one
  // member, so that its values at several rows belong together; with noise, what could be observed of it.
  std::vector<double> sample(const Table& table, std::size_t count, std::uint64_t seed,
                             bool noise = true) const;

  // How good the predictions are: one entry per target. Rows without a target are left out.
  std::vector<Metrics> evaluate(const Table& table, std::size_t threads = 0) const;

  // Learns new rows as new batches. Without the training data the old messages stand; with it the old
  // batches are swept too and the noise is learnt again.
  ChangeReport update(const Table& table, const ChangeOptions& options = {});
  // Divides out the messages of the batches that contain the rows. Without the training data whole
  // batches go; with it their other rows are put back and everything is swept again.
  ChangeReport forget_rows(const Table& table, const ChangeOptions& options = {});
  ChangeReport forget_batch(std::size_t batch, const ChangeOptions& options = {});

  // The model file in memory.
  std::vector<std::byte> to_bytes() const;
  static Regressor from_bytes(std::span<const std::byte> bytes);
  // Atomically: the file is the old one or the new one, whole. Slim: without the ledger, so that nothing
  // can be forgotten and old rows cannot be swept again.
  void save(const std::filesystem::path& path, bool slim = false) const;
  static Regressor load(const std::filesystem::path& path);

  const Model& model() const { return model_; }
  const Encoder& encoder() const { return model_.encoder; }
  const FitReport& report() const { return model_.report; }

 private:
  struct Lazy;

  void set_model(Model model);

  Model model_;
  // What predicting takes beyond the model: made once, when it is first asked for, and shared by copies.
  std::shared_ptr<Lazy> lazy_;
};

}  // namespace dma
