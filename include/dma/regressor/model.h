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
  Names target = {};                        // at least one
  TargetKind kind = TargetKind::automatic;  // of the target
  std::string weight = {};  // column that says how much each row counts; empty: none
  Names features = {};      // empty: every other column
  Names drop = {};
  Names categorical = {};  // even if its cells are numbers
  bool keep_ids = false;   // see EncoderOptions
  // Of numbers to predict: where they lie. None: found out (natural_bounds). Infinite ones: anywhere.
  std::optional<Bounds> bounds = {};

  // Units per hidden layer. Empty: chosen; for a joint belief several shapes are, weighed by rows they have not seen.
  std::vector<std::size_t> hidden = {};
  std::optional<double> slope = {};  // of the leaky ReLU; none: 0 for a joint belief, 0.1 otherwise
  BeliefKind belief = BeliefKind::automatic;
  Rule rule = Rule::linear;          // direct: independent only
  std::optional<double> noise = {};  // standard deviation in the target's unit; otherwise learnt
  bool constant_noise = false;  // learnt as one number; otherwise (joint) it depends on the inputs
  bool selection = true;        // joint: three of four members can switch input columns off
  // Joint: noise that is learnt, or how sure classes are, is fitted to the held-out predictions.
  bool calibration = true;
  std::size_t epochs = 0;      // at most so many passes over the rows; 0: chosen
  double seconds = 0;          // joint: the fit takes about so long at most; 0: as long as it needs
  double tolerance = 1e-4;     // see TrainingOptions
  std::size_t patience = 3;    // see TrainingOptions
  std::size_t batch_size = 0;  // 0: as small as a ledger of 64 MB allows
  LedgerMode ledger = LedgerMode::full;
  // Number of posteriors to mix, from different starts (joint: of each shape) or draws of the prior means; 0: four; of
  // each shape of a joint belief six if there are up to 200 rows, then five to 300, four to 1,700 and three.
  std::size_t ensemble = 0;
  std::uint64_t seed = 1;
  std::size_t threads = 0;  // 0: all cores; does not change the result
  bool single_precision = false;
};

// One of the shapes that a joint belief was made of, for one target.
struct ShapeReport {
  std::size_t target = 0;
  std::vector<std::size_t> hidden = {};
  std::size_t ramps = 0;    // of its inputs, all together (layers/architecture.h)
  std::size_t weights = 0;  // of a network
  double weight = 0;        // in the mixture, of all members together; 0: it was dropped
  std::size_t epochs = 0;
  double held_out_nll = 0;  // of this shape alone, noise included
};

// What was predicted of a row that had not been learnt, in the target's own unit. Not of classes.
struct HeldOutRow {
  double actual, predicted;
  double lower, upper;  // 95 %
};
inline constexpr std::size_t most_held_out_rows = 500;  // that a report keeps of a target

// Results of a fit. Likelihoods and deviations are in the targets' own units.
struct FitReport {
  std::size_t rows = 0;
  std::size_t rows_without_target = 0;  // left out
  std::size_t rows_without_weight = 0;  // left out: their weight is 0
  std::size_t copies = 0;               // rows that are like an earlier one, with which they count
  std::size_t weights = 0;              // of the first member
  std::vector<std::size_t> layers = {};
  std::vector<ShapeReport> shapes = {};  // by target; the heaviest first
  std::size_t batches = 0;
  std::size_t batch_size = 0;
  std::size_t epochs = 0;  // passes over the rows, of the member that took longest
  Stopped stopped = Stopped::max_epochs;
  // Per target: half of the rows have less noise_std (metrics/predicted.h); of an amount's logarithm; of a class 0; of a
  // count the root of its dispersion, which is that of a rate in units of it.
  std::vector<double> noise_std = {};
  double train_nll =
      0;  // of the mixture, mean per value; NaN: unknown, every row was seen only once
  // Per target, of the mixture: an estimate for rows that come. A joint belief has predicted each row by members that
  // had not learnt it yet.
  std::vector<Metrics> cavity = {};
  // Per target, the first of these rows in the random order of the fit, to show. Empty: unknown, classes, or
  // rows were forgotten since.
  std::vector<std::vector<HeldOutRow>> held_out = {};
  // Training NLL of every member by epoch, mean per value. For a joint belief it is that of the mean weights. Empty:
  // unknown.
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

// A part of the mixture.
struct Member {
  std::shared_ptr<const Belief> belief;
  // The first that it speaks of; if they are numbers, it has as many as its network has outputs.
  std::size_t target = 0;
  double weight = 1;  // those of a target sum to 1
};

// Of a model that learnt at the centre of a start that others share (regressor/merging.h).
struct SharedStart {
  struct Part {
    std::uint64_t digest = 0;  // of its rows, in any order, and of the start
    std::size_t rows = 0;      // of tables, when it was learnt
  };
  std::uint64_t digest = 0;  // of the start
  std::size_t round = 1;     // 2: the start came from models that were fitted from one of round 1
  int format = 0;            // model_format_version of the program that computed the messages
  std::vector<Part> parts = {};  // empty: this is the start itself, and predicts nothing
};

struct Model {
  RegressorOptions options;
  Encoder encoder;
  std::vector<std::size_t> batch_rows;    // rows of each batch of the ledger
  std::vector<std::uint64_t> row_hashes;  // batch by batch: how rows are found again
  std::vector<Member> members;            // of the mixture; those of the heaviest shape first
  std::vector<Calibration> calibrations;  // one per target; empty: what the members say holds
  FitReport report;
  // Of the rows that have hashes: how much each counts, and how many rows of the table it stands for. Empty: one.
  std::vector<double> row_weights = {};
  std::vector<std::size_t> row_copies = {};
  // Per target, for intervals that hold whatever the model is worth (metrics/conformal.h): the predicted probability below
  // each of some rows that were not learnt, in ascending order. Empty: unknown.
  std::vector<std::vector<double>> probabilities_below = {};
  bool held_out_below = false;  // of rows that nothing was learnt from
  // The rows that have hashes are then in no batch, and the scores of the report are those of the start's sample.
  std::optional<SharedStart> start = {};
};

inline bool is_start(const Model& model) { return model.start && model.start->parts.empty(); }

// Rows of the tables that have hashes.
inline std::size_t known_rows(const Model& model) {
  if (model.row_copies.empty()) return model.row_hashes.size();
  std::size_t sum = 0;
  for (const std::size_t copies : model.row_copies) sum += copies;
  return sum;
}

// The architecture of the first member.
inline const Architecture& architecture_of(const Model& model) {
  return model.members.front().belief->architecture();
}

// Moments of the weights of each member.
inline std::vector<WeightMoments> weights_of(const Model& model) {
  std::vector<WeightMoments> weights;
  for (const Member& member : model.members) weights.push_back(member.belief->weights());
  return weights;
}

}  // namespace dma
