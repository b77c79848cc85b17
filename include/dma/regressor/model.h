// regressor/model.h: a fitted regressor as plain data; the model file holds exactly this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dma/belief/belief.h>
#include <dma/belief/independent.h>
#include <dma/belief/joint.h>
#include <dma/data/encoder.h>
#include <dma/metrics/metrics.h>

namespace dma {

// One name or several: .target = "y", .target = {"y", "z"}.
struct Names : std::vector<std::string> {
  using std::vector<std::string>::vector;
  Names(const char* name) : std::vector<std::string>{name} {}  // NOLINT: meant to convert
  Names(std::string name)
      : std::vector<std::string>{std::move(name)} {}  // NOLINT: meant to convert
  Names(std::vector<std::string> names)
      : std::vector<std::string>(std::move(names)) {}  // NOLINT: meant to convert
};

// joint         all weights of a network are one Gaussian variable (belief/joint.h): fits far better, costs
//               weights^2 time per row and rows^2 per row, whichever is less
// independent   one Gaussian per weight (belief/independent.h): Algorithm 1 of the paper, any size
// automatic     joint, unless that would take too long or an option needs the other
enum class BeliefKind { automatic, joint, independent };

struct RegressorOptions {
  Names target = {};    // at least one
  Names features = {};  // empty: every other column
  Names drop = {};
  Names categorical = {};  // even if its cells are numbers

  std::vector<std::size_t> hidden = {};  // units per hidden layer; empty: chosen
  double slope = 0.1;                    // of the leaky ReLU
  BeliefKind belief = BeliefKind::automatic;
  Rule rule = Rule::linear;          // direct: independent only
  std::optional<double> noise = {};  // standard deviation in the target's unit; otherwise learnt
  bool constant_noise = false;  // learnt as one number; otherwise (joint) it depends on the inputs
  bool selection = true;        // joint: three of four members can switch input columns off
  bool calibration = true;      // joint: noise that is learnt is fitted to the cavity predictions
  std::size_t epochs = 0;       // at most so many passes over the rows; 0: chosen (TrainingOptions)
  double tolerance = 1e-4;      // see TrainingOptions
  std::size_t patience = 3;     // see TrainingOptions
  std::size_t batch_size = 0;   // 0: as small as a ledger of 64 MB allows
  LedgerMode ledger = LedgerMode::full;
  // Number of posteriors to mix, from different starts (joint) or draws of the prior means; 0: four, or two for a joint
  // belief over 3000 rows or more.
  std::size_t ensemble = 0;
  std::uint64_t seed = 1;
  std::size_t threads = 0;  // 0: all cores; does not change the result
  bool single_precision = false;
};

// Results of a fit. Likelihoods and deviations are in the targets' own units.
struct FitReport {
  std::size_t rows = 0;
  std::size_t rows_without_target = 0;  // left out
  std::size_t weights = 0;              // of one member
  std::vector<std::size_t> layers = {};
  std::size_t batches = 0;
  std::size_t batch_size = 0;
  std::size_t epochs = 0;  // passes over the rows, of the member that took longest
  Stopped stopped = Stopped::max_epochs;
  std::vector<double> noise_std =
      {};  // per target, root of the mean variance over members and rows
  double train_nll =
      0;  // of the mixture, mean per value; NaN: unknown, every row was seen only once
  std::vector<Metrics> cavity = {};  // per target, of the mixture: an estimate for held-out rows
  // Training NLL of every member by epoch, mean per value. For a joint belief it is that of the mean weights, and
  // continues while noise and function are refined in turn. Empty: unknown.
  std::vector<std::vector<double>> training = {};
  // Rows learnt or forgotten since the fit, without the other rows: the scores are those of the rows before.
  std::size_t rows_changed = 0;
  // NaN: unknown. A model file does not record how long a fit took, so that the same rows always give the same bytes.
  double seconds = 0;
  bool stream = false;       // learnt from a file in one pass (regressor/stream.h)
  double sweep_seconds = 0;  // of a stream: spent learning, not waiting for rows; or NaN
  std::size_t ledger_bytes = 0;
  Certificate certificate = {};  // of the first member; what is bounded: of all

  std::vector<bool> noise_at_floor = {};  // per target: the noise is the smallest allowed

  double rows_per_second() const;                 // of a stream's sweeps
  double cavity_nll() const;                      // mean over targets
  std::array<double, 4> cavity_coverage() const;  // mean over targets
};

// Correction of the noise from the cavity predictions: its log gains N(shift, spread^2).
struct NoiseShape {
  double shift = 0, spread = 0;
};

struct Model {
  RegressorOptions options;
  Encoder encoder;
  std::vector<std::size_t> batch_rows;    // rows of each batch of the ledger
  std::vector<std::uint64_t> row_hashes;  // batch by batch: how rows are found again
  // The beliefs of the mixture. Each draw has one belief over all targets, or one per target.
  std::vector<std::shared_ptr<const Belief>> members;
  std::vector<NoiseShape> shapes;  // one per target; empty: the noise is what the members say
  FitReport report;
};

// The architecture that all members share.
inline const Architecture& architecture_of(const Model& model) {
  return model.members.front()->architecture();
}

// Moments of the weights of each member.
inline std::vector<WeightMoments> weights_of(const Model& model) {
  std::vector<WeightMoments> weights;
  for (const auto& member : model.members) weights.push_back(member->weights());
  return weights;
}

}  // namespace dma
