#include <dma/base/parallel.h>
#include <dma/regressor/stream.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>

#include <dma/likelihood/counts.h>
#include <dma/special/random.h>

#include "base/require.h"
#include "regressor/fit.h"
#include "regressor/mixture.h"

namespace dma {
namespace {

using detail::require;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_window_rows = std::size_t{1} << 16U;
constexpr std::size_t most_window_bytes = std::size_t{1} << 24U;
constexpr std::size_t windows_at_once = 3;  // one is read, one is learnt, one is scored
constexpr std::size_t step_rows = 1024;     // learnt between two progress calls

std::vector<std::string> target_names(const Encoder& encoder) {
  std::vector<std::string> names;
  for (const TargetColumn& target : encoder.targets) names.push_back(target.name);
  return names;
}

// ------------------------------------------------------------------------------------------ windows

// Rows in the order in which they are learnt, and their predictions.
struct Window {
  EncodedRows rows;
  double share_begin = 0, share_end = 0;  // of the file
  std::size_t learnt = 0;                 // rows
  // Predictions of each member, step by step.
  std::vector<std::vector<Prediction>> cavity = {};
};

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

class WindowReader {
 public:
  WindowReader(const StreamedFile& file, const Encoder& encoder, std::uint64_t seed)
      : file_(file),
        encoder_(encoder),
        reader_(file.path, options_for(file, encoder)),
        split_(file.holdout, seed, target_names(encoder), encoder.weight),
        seed_(seed) {
    const std::size_t row_bytes = sizeof(double) * (encoder.width() + encoder.targets.size());
    most_rows_ = std::clamp<std::size_t>(most_window_bytes / row_bytes, 1, most_window_rows);
  }

  // Null if there are no rows left.
  std::unique_ptr<Window> next() {
    auto window = std::make_unique<Window>();
    window->share_begin = reader_.share();
    // Reserved at once: otherwise the vector would double. Memory that is not written to is not used.
    window->rows.inputs.reserve(most_rows_ * encoder_.width());
    // No piece has more rows than are missing, so the end of a window does not depend on the pieces.
    while (window->rows.rows < most_rows_ &&
           reader_.read(piece_, std::min(file_.piece_rows, most_rows_ - window->rows.rows))) {
      if (file_.holdout > 0) piece_ = split_.choose(piece_, false);
      const EncodedRows encoded = encoder_.encode(piece_);
      add(encoded, window->rows);
      without_target_ += encoded.without_target;
      without_weight_ += encoded.without_weight;
    }
    window->share_end = reader_.share();
    if (window->rows.rows == 0) return nullptr;
    detail::merge_copies(window->rows);
    detail::shuffle(window->rows, seed_++);
    return window;
  }

  std::size_t without_target() const { return without_target_; }
  std::size_t without_weight() const { return without_weight_; }

  static CsvOptions options_for(const StreamedFile& file, const Encoder& encoder,
                                UseWeights use = UseWeights::needed) {
    CsvOptions options = file.csv;
    options.columns = encoder.wanted(true, use);
    return options;
  }

 private:
  static void add(const EncodedRows& piece, EncodedRows& rows) {
    append_weights(piece.weights, piece.rows, rows.rows, rows.weights);
    append(rows.inputs, piece.inputs);
    append(rows.targets, piece.targets);
    append(rows.hashes, piece.hashes);
    rows.rows += piece.rows;
  }

  const StreamedFile& file_;
  const Encoder& encoder_;
  CsvReader reader_;
  HeldOutRows split_;
  std::uint64_t seed_;
  std::size_t most_rows_;
  std::size_t without_target_ = 0, without_weight_ = 0;
  Table piece_;
};

// ----------------------------------------------------------------------------------- what is reported

// Evenly spaced rows of a stream: at least `wanted` if it is long enough, and fewer than twice as many.
class SpacedRows {
 public:
  explicit SpacedRows(std::size_t wanted) : wanted_(wanted) {}

  void offer(std::span<const double> inputs, std::span<const double> targets) {
    if (offered_++ % distance_ != 0) return;
    rows_.inputs.insert(rows_.inputs.end(), inputs.begin(), inputs.end());
    rows_.targets.insert(rows_.targets.end(), targets.begin(), targets.end());
    if (++rows_.rows < 2 * wanted_) return;
    thin(rows_.inputs);
    thin(rows_.targets);
    rows_.rows = wanted_;
    distance_ *= 2;
  }

  Data data() const { return rows_.data(); }

 private:
  // Drops every second row.
  void thin(std::vector<double>& numbers) const {
    const std::size_t width = numbers.size() / rows_.rows;
    for (std::size_t row = 1; row < wanted_; ++row) {
      std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(2 * row * width), width,
                  numbers.begin() + static_cast<std::ptrdiff_t>(row * width));
    }
    numbers.resize(wanted_ * width);
  }

  std::size_t wanted_;
  std::size_t offered_ = 0, distance_ = 1;
  Rows rows_;
};

// Number of examples for the certificate. A fit in memory uses fewer, since it has fewer sweeps to pay for them.
std::size_t certificate_rows(std::size_t weights) {
  constexpr std::size_t most_messages = 1'000'000;
  return std::clamp<std::size_t>(most_messages / weights, 1, 200);
}

std::vector<Member> equal_members(std::size_t count) {
  return {count, Member{nullptr, 0, 1 / static_cast<double>(count)}};
}

// Collects the report on the rows that were learnt.
class Scores {
 public:
  Scores(const Encoder& encoder, std::size_t weights)
      : encoder_(encoder), cavity_(encoder.targets.size()), examples_(certificate_rows(weights)) {}

  void add(const Window& window) {
    if (window.learnt == 0) return;
    const EncodedRows& rows = window.rows;
    const std::size_t width = rows.inputs.size() / rows.rows;
    const std::size_t outputs = cavity_.size();
    const std::span<const double> inputs(rows.inputs);
    const Data data{rows.inputs, rows.targets, rows.rows, rows.weights};
    const std::span<const double> targets(rows.targets);
    for (std::size_t row = 0; row < window.learnt; ++row) {
      examples_.offer(inputs.subspan(row * width, width), targets.subspan(row * outputs, outputs));
    }
    std::size_t first = 0;
    for (const auto& members : window.cavity) {
      const std::size_t rows_of_step = rows_of(members.front());
      const Targets of_step = data.part(first, rows_of_step).weighted_targets();
      const auto predicted =
          detail::mix_members(members, rows_of_step, equal_members(members.size()), encoder_);
      for (std::size_t k = 0; k < outputs; ++k) {
        cavity_[k] = merged(cavity_[k], detail::score_target(predicted, of_step, encoder_, k));
      }
      first += rows_of_step;
    }
    for (std::size_t row = 0; row < window.learnt; ++row) {
      const std::size_t copies = rows.copies.empty() ? 0 : rows.copies[row] - 1;
      rows_ += 1 + copies;
      copies_ += copies;
    }
  }

  Data examples() const { return examples_.data(); }
  void report(FitReport& report) const {
    report.rows = rows_;
    report.copies = copies_;
    report.cavity = cavity_;
  }

 private:
  std::size_t rows_of(const Prediction& prediction) const {
    if (encoder_.has_classes()) return prediction.entropy.size();
    return prediction.mean.size() / cavity_.size();
  }

  const Encoder& encoder_;
  std::vector<Metrics> cavity_;  // per target
  SpacedRows examples_;
  std::size_t rows_ = 0, copies_ = 0;
};

// -------------------------------------------------------------------------------------------- learn

template <std::floating_point T>
class Learner {
 public:
  Learner(const Architecture& architecture, const Encoder& encoder, const RegressorOptions& options,
          const OnStreamProgress& progress)
      : options_(options), progress_(progress) {
    TrainingOptions training = detail::training_options(encoder, options, step_rows);
    training.likelihood =
        detail::likelihood_of(encoder, options, detail::first_noise(encoder, options));
    for (const WeightPrior& prior : detail::draw_priors(architecture, options)) {
      beliefs_.emplace_back(architecture, prior, training, detail::independent_options(options));
    }
  }

  // All members learn the same rows, step by step, until the caller asks to stop.
  void learn(Window& window) {
    const EncodedRows& rows = window.rows;
    while (window.learnt < rows.rows && !stopped_) {
      const std::size_t count = std::min(step_rows, rows.rows - window.learnt);
      window.cavity.push_back(learn_step(rows, window.learnt, count));
      window.learnt += count;
      rows_ += count;
      const double done = static_cast<double>(window.learnt) / static_cast<double>(rows.rows);
      const double share = window.share_begin + done * (window.share_end - window.share_begin);
      stopped_ = progress_ && !progress_({rows_, share});
    }
  }

  bool stopped() const { return stopped_; }
  double seconds() const { return seconds_; }

  // Root of the mean variance over members.
  void report_noise(const Encoder& encoder, FitReport& report) const {
    if (encoder.has_classes()) {
      report.noise_std = {0};
      report.noise_at_floor = {false};
      return;
    }
    if (encoder.has_counts()) {
      double sum = 0;
      for (const auto& belief : beliefs_) {
        sum += dynamic_cast<const CountLikelihood&>(belief.likelihood()).dispersion();
      }
      report.noise_std = {std::sqrt(sum / static_cast<double>(beliefs_.size()))};
      report.noise_at_floor = {false};
      return;
    }
    for (std::size_t k = 0; k < encoder.targets.size(); ++k) {
      double sum = 0;
      for (const auto& belief : beliefs_) sum += noise_variance(belief.likelihood())[k];
      const double noise = std::sqrt(sum / static_cast<double>(beliefs_.size()));
      report.noise_std.push_back(noise * encoder.targets[k].deviation);
      report.noise_at_floor.push_back(noise < 1.01 * std::sqrt(least_noise_variance));
    }
  }

  // Certificate of the first member, over these rows; call it after finish_noise().
  Certificate certify(const Data& rows) { return beliefs_.front().certify(rows); }

  void finish_noise() {
    for (auto& belief : beliefs_) belief.stop_learning();
  }

  std::vector<Member> release() {
    std::vector<Member> members = equal_members(beliefs_.size());
    for (std::size_t m = 0; m < members.size(); ++m) {
      members[m].belief = std::make_shared<IndependentBelief<T>>(std::move(beliefs_[m]));
    }
    return members;
  }

 private:
  std::vector<Prediction> learn_step(const EncodedRows& rows, std::size_t first,
                                     std::size_t count) {
    const Data data = Data{rows.inputs, rows.targets, rows.rows, rows.weights}.part(first, count);
    std::vector<Prediction> cavity(beliefs_.size());
    const auto start = Clock::now();
    detail::parallel_for_within(beliefs_.size(), [&](std::size_t m) {
      detail::with_advice(options_, [&] { cavity[m] = beliefs_[m].learn(data); });
    });
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    return cavity;
  }

  const RegressorOptions& options_;
  const OnStreamProgress& progress_;
  std::vector<IndependentBelief<T>> beliefs_;
  std::size_t rows_ = 0;
  double seconds_ = 0;
  std::atomic<bool> stopped_ = false;
};

// Reads, learns and scores windows in order, up to three at once.
template <std::floating_point T>
void run(WindowReader& reader, Learner<T>& learner, Scores& scores, std::size_t threads) {
  std::array<std::unique_ptr<Window>, windows_at_once> windows;
  const auto read = [&](std::size_t slot) {
    windows[slot] = learner.stopped() ? nullptr : reader.next();
    return windows[slot] != nullptr;
  };
  const auto learn = [&](std::size_t slot) { learner.learn(*windows[slot]); };
  const auto score = [&](std::size_t slot) {
    scores.add(*windows[slot]);
    windows[slot].reset();
  };
  detail::pipeline(windows_at_once, threads, read, learn, score);
}

template <std::floating_point T>
void fit_model(const StreamedFile& file, const OnStreamProgress& progress, Model& model) {
  const RegressorOptions& options = model.options;
  const Encoder& encoder = model.encoder;
  const Architecture architecture = detail::architecture_of(encoder, options, false);
  FitReport& report = model.report;
  report.weights = architecture.weight_count();
  report.layers = architecture.widths;
  Learner<T> learner(architecture, encoder, options, progress);
  WindowReader reader(file, encoder, options.seed);
  Scores scores(encoder, report.weights);
  run(reader, learner, scores, options.threads);
  learner.finish_noise();
  scores.report(report);
  report.rows_without_target = reader.without_target();
  report.rows_without_weight = reader.without_weight();
  report.certificate = learner.certify(scores.examples());
  report.stopped = learner.stopped() ? Stopped::interrupted : Stopped::max_epochs;
  report.sweep_seconds = learner.seconds();
  learner.report_noise(encoder, report);
  model.members = learner.release();
}

void check(const StreamedFile& file, const RegressorOptions& options) {
  detail::validate(options);
  detail::require_understood(options, false);
  require(
      is_one_pass(options),
      "a stream is learnt in one pass: epochs must be 1, the ledger none and the belief not joint");
  require(file.holdout >= 0 && file.holdout < 1,
          "the share to hold out must be at least 0 and below 1");
  require(file.piece_rows > 0, "piece_rows must be at least 1");
  if (!can_stream(file.path)) {
    throw DataError(file.path.string() + ": cannot be read twice, so it cannot be streamed");
  }
}

}  // namespace

bool can_stream(const std::filesystem::path& path) {
  std::error_code ignored;
  return path != "-" && std::filesystem::is_regular_file(path, ignored);
}

bool is_one_pass(const RegressorOptions& options) {
  return options.epochs == 1 && options.ledger == LedgerMode::none &&
         options.belief != BeliefKind::joint;
}

Table HeldOutRows::choose(const Table& piece, bool held_out) {
  std::vector<const Column*> needed;
  for (const std::string& target : targets_) needed.push_back(piece.find(target));
  const Column* weights = piece.find(weight_);
  const auto counts = [&](std::size_t row) {
    if (weights != nullptr && !weights->is_text && weights->numbers[row] == 0) return false;
    return std::none_of(needed.begin(), needed.end(), [&](const Column* column) {
      return column != nullptr && column->empty(row);
    });
  };
  std::vector<std::size_t> chosen;
  for (std::size_t row = 0; row < piece.rows(); ++row) {
    const bool out = counts(row) && random_.uniform() < share_;
    if (out == held_out) chosen.push_back(row);
  }
  return select_rows(piece, chosen);
}

void require_split(double share, std::size_t learnt, std::size_t held_out,
                   const std::string& source) {
  if (held_out > 0 && learnt > 1) return;
  std::ostringstream said;
  said << source << ": --holdout " << share << " of " << learnt + held_out
       << " rows with a target leaves " << learnt << " to learn from and " << held_out
       << " to test on; at least 2 and 1 are needed";
  throw DataError(said.str());
}

StreamedTable look_through(const StreamedFile& file, const RegressorOptions& options) {
  check(file, options);
  StreamedTable result;
  std::optional<EncoderBuilder> builder;
  std::optional<HeldOutRows> split;
  const auto begin = [&] {
    builder.emplace(detail::encoder_builder(options, false));
    split.emplace(file.holdout, options.seed, options.target, options.weight);
    result.rows = 0;
    result.notes = {};
  };
  const auto take = [&](const Table& piece) {
    result.source = piece.source;
    result.columns = piece.columns.size();
    result.notes.add(piece);
    result.rows += piece.rows();
    if (file.holdout == 0) return builder->add(piece);
    builder->add(split->choose(piece, false));
  };
  read_csv_pieces(file.path, file.csv, file.piece_rows, begin, take);
  result.held_out = result.rows - builder->rows();
  if (file.holdout > 0) {
    require_split(file.holdout, builder->rows_with_target(), result.held_out, result.source);
  }
  result.encoder = detail::finish(*builder, result.source);
  result.without_weight = builder->rows_without_weight();
  result.without_target =
      builder->rows() - builder->rows_with_target() - builder->rows_without_weight();
  return result;
}

Regressor fit_stream(const StreamedFile& file, const RegressorOptions& options,
                     const OnStreamProgress& progress) {
  return fit_stream(file, look_through(file, options).encoder, options, progress);
}

Regressor fit_stream(const StreamedFile& file, Encoder encoder, const RegressorOptions& options,
                     const OnStreamProgress& progress) {
  check(file, options);
  const auto start = Clock::now();
  Model model{options, std::move(encoder), {}, {}, {}, {}, {}};
  if (options.ensemble == 0) model.options.ensemble = detail::independent_members;
  model.options.belief = BeliefKind::independent;
  FitReport& report = model.report;
  report.stream = true;
  report.epochs = 1;
  report.batch_size = step_rows;
  report.train_nll = std::numeric_limits<double>::quiet_NaN();
  options.single_precision ? fit_model<float>(file, progress, model)
                           : fit_model<double>(file, progress, model);
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return Regressor(std::move(model));
}

std::vector<Metrics> evaluate_stream(const Regressor& model, const StreamedFile& file,
                                     std::size_t threads) {
  const Encoder& encoder = model.encoder();
  CsvReader reader(file.path, WindowReader::options_for(file, encoder, UseWeights::if_there));
  HeldOutRows split(file.holdout, model.model().options.seed, target_names(encoder),
                    encoder.weight);
  std::vector<Metrics> metrics(encoder.targets.size());
  Table piece;
  while (reader.read(piece, file.piece_rows)) {
    if (file.holdout > 0) piece = split.choose(piece, true);
    const EncodedRows rows = encoder.encode(piece, UseWeights::if_there);
    if (rows.rows == 0) continue;
    const auto predicted = model.predict_encoded(rows, threads);
    for (std::size_t k = 0; k < metrics.size(); ++k) {
      metrics[k] = merged(
          metrics[k], detail::score_target(predicted, {rows.targets, rows.weights}, encoder, k));
    }
  }
  if (metrics.front().values == 0) throw DataError(piece.source + ": no row has a target");
  return metrics;
}

}  // namespace dma
