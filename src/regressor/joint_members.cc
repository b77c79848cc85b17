#include "regressor/joint_members.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <dma/base/parallel.h>

#include "belief/joint.h"
#include "regressor/checkpoint.h"
#include "regressor/noise_shape.h"
#include "regressor/shared_progress.h"

namespace dma::detail {

// A member made ready for many rows.
class MemberPredictor {
 public:
  explicit MemberPredictor(const JointMember& member);

  Prediction predict(std::span<const double> inputs, std::size_t rows) const;

 private:
  JointPredictor function_;
  std::optional<JointPredictor> log_noise_;
  double noise_variance_;
  NoiseInputs noise_inputs_;
};

namespace {

// Found on training rows held out from training (docs/default-method.md).
constexpr std::size_t noise_units = 10;
constexpr std::size_t later_noise_epochs = 15;
constexpr double first_prior_precision = 1;
constexpr double first_noise_prior_precision = 5;
constexpr double noise_gain = 0.5;
// The scale of the function's value as an input of the noise network, in standard deviations of the target. A
// function that is all but constant has nothing to say about the noise, and may vary more after a refinement.
constexpr double least_value_deviation = 0.01;
constexpr std::size_t rows_per_task = 512;

// How often the noise and the function are refined in turn.
struct Refinement {
  std::size_t rounds, first_noise_epochs, function_epochs;
};
constexpr Refinement of_few{2, 30, 10};
constexpr Refinement of_many{1, 20, 6};
constexpr std::size_t epochs_over_all = 12;  // of many rows, after some of them

// The rows of one target.
struct TargetRows {
  std::span<const double> inputs;
  std::vector<double> targets;

  Data view() const { return {inputs, targets, targets.size()}; }
};

TargetRows rows_of(const Rows& rows, std::size_t target) {
  TargetRows result{rows.inputs, {}};
  const std::size_t targets = rows.targets.size() / rows.rows;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    result.targets.push_back(rows.targets[n * targets + target]);
  }
  return result;
}

Architecture noise_architecture(const Architecture& function) {
  Architecture architecture = function;
  architecture.widths = {function.inputs() + 1, noise_units, 1};
  return architecture;
}

// The inputs and the function's standardised value, row by row; nothing further out than the rows the noise
// was learnt from: noise is not extrapolated.
std::vector<double> noise_inputs(std::span<const double> inputs, std::span<const double> values,
                                 const NoiseInputs& known) {
  const std::size_t width = inputs.size() / values.size();
  std::vector<double> result;
  result.reserve(inputs.size() + values.size());
  const auto put = [&](double value, std::size_t column) {
    result.push_back(std::clamp(value, known.low[column], known.high[column]));
  };
  for (std::size_t n = 0; n < values.size(); ++n) {
    for (std::size_t j = 0; j < width; ++j) put(inputs[n * width + j], j);
    put((values[n] - known.value_mean) / known.value_deviation, width);
  }
  return result;
}

void measure_scale(std::span<const double> values, NoiseInputs& known) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double square = 0;
  for (const double value : values) square += (value - mean) * (value - mean) / count;
  known.value_mean = mean;
  known.value_deviation = std::max(std::sqrt(square), least_value_deviation);
}

void measure_range(std::span<const double> inputs, std::span<const double> values,
                   NoiseInputs& known) {
  const std::size_t width = inputs.size() / values.size();
  known.low.assign(width + 1, HUGE_VAL);
  known.high.assign(width + 1, -HUGE_VAL);
  const auto include = [&](double value, std::size_t column) {
    known.low[column] = std::min(known.low[column], value);
    known.high[column] = std::max(known.high[column], value);
  };
  for (std::size_t n = 0; n < values.size(); ++n) {
    for (std::size_t j = 0; j < width; ++j) include(inputs[n * width + j], j);
    include((values[n] - known.value_mean) / known.value_deviation, width);
  }
}

double noise_at(double log_variance) {
  return std::max(least_noise_variance, std::exp(log_variance));
}

// Three of four draws can switch a column off; the fourth doubts it, which widens intervals away from the
// data.
bool selects(const RegressorOptions& options, std::size_t draw) {
  return options.selection && draw % 4 != 3;
}

// A fit is a list of these, each one fit of one of the two networks.
struct Stage {
  enum class Part {
    some_rows,  // the function and its noise, from the first rows
    all_rows,   // from all
    noise,      // the noise network, given the function
    function,   // the function, given the noise of each row
  };
  Part part;
  JointSettings settings;
};

// Where a checkpoint has a member, and may be told that it is elsewhere by now.
struct Place {
  CheckpointFile* file = nullptr;
  std::size_t member = 0;
};

// One member while it is learnt.
class MemberTrainer {
 public:
  // A new one.
  MemberTrainer(const Architecture& architecture, double noise, std::uint64_t seed, bool selects,
                const RegressorOptions& options, std::function<bool(std::size_t)> go_on)
      : function_(architecture, JointUnit::leaky_relu, RowLikelihood::gaussian,
                  first_prior_precision, selects),
        selects_(selects),
        options_(options),
        seed_(seed),
        go_on_(std::move(go_on)) {
    function_.draw_start(seed, 1);
    member_.function.architecture = architecture;
    member_.noise_variance = noise;
  }
  // One that is known already.
  MemberTrainer(const JointMember& member, bool selects, const RegressorOptions& options,
                std::function<bool(std::size_t)> go_on)
      : member_(member),
        function_(member.function, RowLikelihood::gaussian, selects),
        selects_(selects),
        options_(options),
        go_on_(std::move(go_on)) {
    if (member.log_noise) noise_.emplace(*member.log_noise, RowLikelihood::log_variance, selects);
  }

  void fit(const Data& rows, const Place& place) {
    place_ = place;
    const std::vector<Stage> stages = stages_for(rows.rows >= many_rows);
    if (place_.file != nullptr && place_.file->knows(place_.member)) resume(rows, stages);
    for (; stage_ < stages.size() && result_.stopped != Stopped::interrupted; ++stage_) {
      run(stages[stage_], rows);
    }
    if (place_.file != nullptr && result_.stopped != Stopped::interrupted) keep();
  }

  // Starts from what is known; the rows are all there are.
  void fit_again(const Data& rows) {
    set_variances(rows);
    const JointSettings settings = settings_from_before(options_.epochs);
    const bool one_noise = learns_noise() && !noise_;
    fit_function_with(rows, one_noise ? &member_.noise_variance : nullptr, settings);
    if (!noise_) return;
    std::vector<Stage> stages;
    add_refinement({1, later_noise_epochs, of_few.function_epochs}, stages);
    for (const Stage& stage : stages) {
      if (result_.stopped != Stopped::interrupted) run(stage, rows);
    }
  }

  // New rows only, on top of what is known; precisions and noise stand. Linearised where the old rows
  // were: the old messages hold there only, and a network that moved on would pay too little for what it
  // unlearns.
  void fit_on_top(const Data& rows) {
    variances_ = Vector::Constant(index(rows.rows), member_.noise_variance);
    if (member_.log_noise) {
      const auto values = dma::predict(member_.function, rows.inputs, rows.rows).mean;
      const auto inputs = noise_inputs(rows.inputs, values, member_.noise_inputs);
      const auto log_variance = dma::predict(*member_.log_noise, inputs, rows.rows).mean;
      for (std::size_t n = 0; n < rows.rows; ++n) variances_[index(n)] = noise_at(log_variance[n]);
    }
    function_.stand_on(member_.function);
    result_ = {1, Stopped::tolerance};
  }

  JointMember finish(const Data& rows, bool keep_ledger) {
    member_.ledger = {};
    member_.function =
        function_.posterior(rows, variances_, keep_ledger ? &member_.ledger : nullptr);
    if (noise_) {
      if (!has_squares_) update_squares(rows);
      member_.log_noise = noise_->posterior(noise_rows(), variances_, nullptr);
    }
    return member_;
  }

  // The function only.
  JointMember finish_on_top(const Data& rows, bool keep_ledger) {
    JointLedger ledger;
    const JointPosterior posterior =
        function_.posterior(rows, variances_, keep_ledger ? &ledger : nullptr);
    return {.function = posterior, .ledger = std::move(ledger)};
  }

  const JointTrainer::Result& result() const { return result_; }
  // Of the function, after each of all its epochs.
  const std::vector<double>& train_nll() const { return train_nll_; }
  const Vector& variances() const { return variances_; }
  Bounded bounded() const {
    const auto at_floor = (variances_.array() <= least_noise_variance).count();
    return {function_.bounded_precisions() + (noise_ ? noise_->bounded_precisions() : 0),
            static_cast<std::size_t>(at_floor), result_.noise_bounded ? 1U : 0U};
  }

 private:
  std::vector<Stage> stages_for(bool many) const {
    std::vector<Stage> stages;
    JointSettings settings = settings_for(options_.epochs);
    if (many) {
      settings.epochs = options_.epochs * 3 / 2;
      settings.evidence_before = settings.evidence_before * 3 / 2;
      stages.push_back({Stage::Part::some_rows, settings});
      settings = settings_from_before(std::min(options_.epochs, epochs_over_all));
    }
    stages.push_back({Stage::Part::all_rows, settings});
    add_refinement(many ? of_many : of_few, stages);
    return stages;
  }

  // In turn: the noise given the function, the function given the noise.
  void add_refinement(const Refinement& how, std::vector<Stage>& stages) const {
    if (!learns_noise() || options_.constant_noise) return;
    for (std::size_t round = 0; round < how.rounds; ++round) {
      JointSettings noise = settings_for(round == 0 ? how.first_noise_epochs : later_noise_epochs);
      noise.evidence_from = 2;
      noise.evidence_every = 1;
      stages.push_back({Stage::Part::noise, noise});
      stages.push_back({Stage::Part::function, settings_from_before(how.function_epochs)});
    }
  }

  void run(const Stage& stage, const Data& rows) {
    switch (stage.part) {
      case Stage::Part::some_rows:
        fit_function(rows.part(0, many_rows), stage.settings);  // they come in random order
        variances_ = Vector::Constant(index(rows.rows), member_.noise_variance);
        break;
      case Stage::Part::all_rows:
        fit_function(rows, stage.settings);
        break;
      case Stage::Part::noise:
        if (!has_begun()) begin_noise(rows);
        noise_->fit(noise_rows(), variances_, nullptr, stage.settings, fit_, keeper());
        take_variances(rows.rows);
        break;
      case Stage::Part::function:
        refine_function(rows, stage.settings);
        break;
    }
    fit_ = {};
  }

  // The stage, before a checkpoint was made.
  bool has_begun() const { return fit_.result.epochs > 0; }

  void fit_function(const Data& rows, const JointSettings& settings) {
    if (!has_begun()) variances_ = Vector::Constant(index(rows.rows), member_.noise_variance);
    fit_function_with(rows, learns_noise() ? &member_.noise_variance : nullptr, settings);
  }

  void fit_function_with(const Data& rows, double* noise, const JointSettings& settings) {
    result_ = function_.fit(rows, variances_, noise, settings, fit_, keeper());
    note_epochs(result_);
  }

  void refine_function(const Data& rows, const JointSettings& settings) {
    const auto again = function_.fit(rows, variances_, nullptr, settings, fit_, keeper());
    note_epochs(again);
    if (again.stopped == Stopped::interrupted) result_.stopped = again.stopped;
  }

  void begin_noise(const Data& rows) {
    update_squares(rows);
    if (!noise_) start_noise();
  }

  JointTrainer::OnEpoch keeper() {
    if (place_.file == nullptr) return {};
    return [this](const JointTrainer::State& fit) {
      if (!place_.file->is_due()) return;
      fit_ = fit;
      keep();
    };
  }

  void keep() { place_.file->keep(place_.member, stored()); }

  // All that is not known from the rows and the options.
  NamedNumbers stored() const {
    const JointTrainer::Parameters function = function_.parameters();
    const NoiseInputs& inputs = member_.noise_inputs;
    NamedNumbers state{
        {"stage", std::vector<std::uint64_t>{stage_}},
        {"fit.counts", counts(fit_.result, fit_.settled)},
        {"fit.damping", std::vector<double>{fit_.damping}},
        {"fit.train_nll", fit_.result.train_nll},
        {"function.weights", function.weights},
        {"function.precisions", function.precisions},
        {"noise_variance", std::vector<double>{member_.noise_variance}},
        {"result.counts", counts(result_, 0)},
        {"train_nll", train_nll_},
        {"variances", std::vector<double>(variances_.begin(), variances_.end())},
    };
    if (!noise_) return state;
    const JointTrainer::Parameters noise = noise_->parameters();
    state["noise.weights"] = noise.weights;
    state["noise.precisions"] = noise.precisions;
    state["noise.scale"] = std::vector<double>{inputs.value_mean, inputs.value_deviation};
    state["noise.low"] = inputs.low;
    state["noise.high"] = inputs.high;
    state["noise.inputs"] = inputs_;
    state["noise.squares"] = squares_;
    return state;
  }

  static std::vector<std::uint64_t> counts(const JointTrainer::Result& result,
                                           std::size_t settled) {
    return {result.epochs, static_cast<std::uint64_t>(result.stopped), result.noise_bounded,
            settled};
  }

  // Numbers of a checkpoint, of which so many are expected.
  template <class T>
  std::vector<T> numbers(const std::string& name, std::size_t count) const {
    const std::vector<T>& all = place_.file->read<T>(place_.member, name);
    if (all.size() != count) place_.file->fail("has another size of " + name + " than the fit");
    return all;
  }

  JointTrainer::Result result_from(const std::string& name, std::size_t& settled) const {
    const auto counts = numbers<std::uint64_t>(name, 4);
    if (counts[1] >= static_cast<std::uint64_t>(Stopped::interrupted) || counts[2] > 1) {
      place_.file->fail("has " + name + " that no fit has");
    }
    settled = counts[3];
    return {counts[0], static_cast<Stopped>(counts[1]), counts[2] == 1, {}};
  }

  void set_parameters(JointTrainer& trainer, const std::string& name) const {
    const CheckpointFile& file = *place_.file;
    const JointTrainer::Parameters parameters{
        file.read<double>(place_.member, name + ".weights"),
        file.read<double>(place_.member, name + ".precisions")};
    const auto finite = [](double value) { return std::isfinite(value); };
    const auto& weights = parameters.weights;
    if (!std::all_of(weights.begin(), weights.end(), finite)) file.fail("is not finite");
    check_positive(parameters.precisions);
    try {
      trainer.set_parameters(parameters);
    } catch (const NetworkError& error) {
      file.fail(error.what());
    }
  }

  void check_positive(std::span<const double> values) const {
    const auto sound = [](double value) { return value > 0 && std::isfinite(value); };
    if (!std::all_of(values.begin(), values.end(), sound)) {
      place_.file->fail("holds a precision or variance that is not positive");
    }
  }

  void resume(const Data& rows, const std::vector<Stage>& stages) {
    stage_ = numbers<std::uint64_t>("stage", 1)[0];
    if (stage_ > stages.size()) place_.file->fail("is further than the fit goes");
    fit_.result = result_from("fit.counts", fit_.settled);
    fit_.result.train_nll = numbers<double>("fit.train_nll", fit_.result.epochs);
    fit_.damping = numbers<double>("fit.damping", 1)[0];
    std::size_t none = 0;
    result_ = result_from("result.counts", none);
    set_parameters(function_, "function");
    member_.noise_variance = numbers<double>("noise_variance", 1)[0];
    train_nll_ = place_.file->read<double>(place_.member, "train_nll");
    const bool some = stage_ < stages.size() && stages[stage_].part == Stage::Part::some_rows;
    const auto variances = numbers<double>("variances", some ? many_rows : rows.rows);
    check_positive(variances);
    check_positive({&member_.noise_variance, 1});
    variances_ = Eigen::Map<const Vector>(variances.data(), index(variances.size()));
    const auto is_noise = [](const Stage& stage) { return stage.part == Stage::Part::noise; };
    const auto first_noise = std::find_if(stages.begin(), stages.end(), is_noise);
    const auto before = static_cast<std::size_t>(first_noise - stages.begin());
    if (stage_ > before || (stage_ == before && has_begun())) resume_noise(rows);
  }

  void resume_noise(const Data& rows) {
    const Architecture architecture = noise_architecture(member_.function.architecture);
    const std::size_t width = architecture.inputs();
    const auto scale = numbers<double>("noise.scale", 2);
    check_positive({&scale[1], 1});
    member_.noise_inputs = {scale[0], scale[1], numbers<double>("noise.low", width),
                            numbers<double>("noise.high", width)};
    inputs_ = numbers<double>("noise.inputs", rows.rows * width);
    squares_ = numbers<double>("noise.squares", rows.rows);
    has_squares_ = true;
    make_noise();
    set_parameters(*noise_, "noise");
  }

  void note_epochs(const JointTrainer::Result& fit) {
    train_nll_.insert(train_nll_.end(), fit.train_nll.begin(), fit.train_nll.end());
  }

  bool learns_noise() const { return !options_.noise.has_value(); }

  JointSettings settings_for(std::size_t epochs) const {
    JointSettings settings;
    settings.epochs = epochs;
    settings.tolerance = options_.tolerance;
    if (options_.patience > 0) settings.patience = options_.patience;
    settings.go_on = go_on_;
    return settings;
  }

  // Of a fit that starts near where it will end.
  JointSettings settings_from_before(std::size_t epochs) const {
    JointSettings settings = settings_for(epochs);
    settings.damping = 1e-2;
    settings.evidence_from = 0;
    return settings;
  }

  // The noise that the member expects of each row.
  void set_variances(const Data& rows) {
    variances_ = Vector::Constant(index(rows.rows), member_.noise_variance);
    if (!noise_) return;
    const auto values = function_.values(rows);
    inputs_ = noise_inputs(rows.inputs, {values.data(), rows.rows}, member_.noise_inputs);
    squares_.assign(rows.rows, 0);
    take_variances(rows.rows);
  }

  void take_variances(std::size_t rows) {
    const Vector log_variance = noise_->values({inputs_, squares_, rows});
    for (std::size_t n = 0; n < rows; ++n) {
      variances_[index(n)] = noise_at(log_variance[index(n)]);
    }
  }

  // What the noise network learns from: squared residuals, and what the function is unsure about.
  void update_squares(const Data& rows) {
    const Prediction predicted =
        function_.predictor(rows, variances_).predict(rows.inputs, rows.rows);
    squares_.resize(rows.rows);
    for (std::size_t n = 0; n < rows.rows; ++n) {
      const double miss = rows.targets[n] - predicted.mean[n];
      squares_[n] = miss * miss + predicted.epistemic_variance[n];
    }
    has_squares_ = true;
    if (!noise_) measure_scale(predicted.mean, member_.noise_inputs);
    measure_range(rows.inputs, predicted.mean, member_.noise_inputs);
    inputs_ = noise_inputs(rows.inputs, predicted.mean, member_.noise_inputs);
  }

  Data noise_rows() const { return {inputs_, squares_, squares_.size()}; }

  void make_noise() {
    noise_.emplace(noise_architecture(member_.function.architecture), JointUnit::step,
                   RowLikelihood::log_variance, first_noise_prior_precision, selects_);
  }

  void start_noise() {
    make_noise();
    noise_->draw_start(seed_ + 1, noise_gain);
    double mean = 0;
    for (const double square : squares_) mean += square / static_cast<double>(squares_.size());
    noise_->set_output_bias(std::log(mean));
  }

  JointMember member_;
  JointTrainer function_;
  std::optional<JointTrainer> noise_;
  bool selects_;
  const RegressorOptions& options_;
  std::uint64_t seed_ = 0;
  std::function<bool(std::size_t)> go_on_;
  JointTrainer::Result result_;
  std::vector<double> train_nll_;
  Vector variances_;             // of the noise, by row
  std::vector<double> inputs_;   // of the noise network
  std::vector<double> squares_;  // its targets
  bool has_squares_ = false;
  Place place_;
  std::size_t stage_ = 0;
  JointTrainer::State fit_;  // of the stage, if a checkpoint has begun it
};

// Each row predicted without its own message: see belief/joint.h.
void write_cavity(const JointMember& member, const TargetRows& rows, const Vector& variances,
                  std::size_t targets, std::size_t target, FitResult& result) {
  const std::size_t count = rows.targets.size();
  const Prediction all = MemberPredictor(member).predict(rows.inputs, count);
  for (std::size_t n = 0; n < count; ++n) {
    const double stays = 1 - all.epistemic_variance[n] / variances[index(n)];
    const double miss = rows.targets[n] - all.mean[n];
    const std::size_t place = n * targets + target;
    result.cavity_predictions.mean[place] = rows.targets[n] - miss / stays;
    result.cavity_predictions.epistemic_variance[place] = all.epistemic_variance[n] / stays;
    result.cavity_predictions.noise_variance[place] = all.noise_variance[n];
    result.cavity_predictions.noise_spread[place] = all.noise_spread[n];
  }
}

// No product sends a message of its own in a joint network: what there is to certify are the precisions.
Certificate certify(const JointMember& member, std::size_t rows, const Bounded& bounded) {
  Certificate certificate{.examples = rows, .bounded = bounded, .layers = {}};
  const Architecture& architecture = member.function.architecture;
  const auto variances = marginal_variances(member.function);
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const auto begin = variances.begin() + static_cast<std::ptrdiff_t>(architecture.offset(l));
    const auto end = variances.begin() + static_cast<std::ptrdiff_t>(architecture.offset(l + 1));
    const auto [least, most] = std::minmax_element(begin, end);
    certificate.layers.push_back(
        {.smallest_precision = 1 / *most, .largest_precision = 1 / *least});
  }
  return certificate;
}

// One function per draw and target, side by side; each returns its member and says how it went.
template <class Learn>
JointFits learn_all(std::size_t draws, const Rows& rows, std::size_t targets,
                    const RegressorOptions& options, const OnProgress& progress,
                    const Learn& learn) {
  JointFits fits;
  fits.members.members.resize(draws * targets);
  fits.members.shapes.resize(targets);
  fits.results.resize(draws);
  SharedProgress shared(progress, draws, options.epochs);
  parallel_for(draws, options.threads, [&](std::size_t m) {
    FitResult& result = fits.results[m];
    result.stopped = Stopped::tolerance;
    const std::size_t size = rows.rows * targets;
    const std::vector<double> room(size);
    result.cavity_predictions = {room, room, room, room};
    const auto call = shared.of(m);
    std::size_t epoch = 0;
    const auto go_on = [&](std::size_t) {
      epoch = std::min(epoch + 1, options.epochs);
      return call({epoch, 1, 1});
    };
    for (std::size_t k = 0; k < targets; ++k) {
      learn(m, k, go_on, fits.members.members[m * targets + k], result);
    }
    if (rows.rows == 0) return;
    result.certificate =
        certify(fits.members.members[m * targets], rows.rows, result.certificate.bounded);
  });
  return fits;
}

// The mean over targets, one after the other; one that has settled stays where it is.
void add_share(std::vector<double> curve, std::size_t targets, std::vector<double>& mean) {
  if (curve.empty()) return;
  const std::size_t size = std::max(curve.size(), mean.size());
  curve.resize(size, curve.back());
  mean.resize(size, mean.empty() ? 0 : mean.back());
  for (std::size_t n = 0; n < size; ++n) mean[n] += curve[n] / static_cast<double>(targets);
}

void note(const MemberTrainer& trainer, std::size_t targets, FitResult& result) {
  const JointTrainer::Result& fit = trainer.result();
  result.certificate.bounded += trainer.bounded();
  add_share(trainer.train_nll(), targets, result.train_nll);
  result.epochs = std::max(result.epochs, fit.epochs);
  if (fit.stopped == Stopped::interrupted || result.stopped == Stopped::tolerance) {
    result.stopped = fit.stopped;
  }
}

void append(JointLedger& ledger, const JointLedger& more) {
  ledger.gradients.insert(ledger.gradients.end(), more.gradients.begin(), more.gradients.end());
  ledger.shifts.insert(ledger.shifts.end(), more.shifts.begin(), more.shifts.end());
}

void erase_rows(JointLedger& ledger, std::span<const std::size_t> rows) {
  if (ledger.shifts.empty()) return;
  const std::size_t width = ledger.gradients.size() / ledger.shifts.size();
  JointLedger kept;
  std::size_t next = 0;
  for (std::size_t n = 0; n < ledger.shifts.size(); ++n) {
    if (next < rows.size() && rows[next] == n) {
      ++next;
      continue;
    }
    kept.shifts.push_back(ledger.shifts[n]);
    const auto begin = ledger.gradients.begin() + static_cast<std::ptrdiff_t>(n * width);
    kept.gradients.insert(kept.gradients.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  ledger = std::move(kept);
}

// Rows of the batches that go, counted over all batches.
std::vector<std::size_t> removed_rows(const Change& change) {
  std::vector<std::size_t> rows;
  std::size_t row = 0;
  for (std::size_t b = 0; b < change.batch_rows.size(); ++b) {
    const bool gone = std::binary_search(change.remove.begin(), change.remove.end(), b);
    for (std::size_t n = 0; n < change.batch_rows[b]; ++n, ++row) {
      if (gone) rows.push_back(row);
    }
  }
  return rows;
}

Rows all_rows(const Change& change) {
  Rows all;
  for (const Rows& batch : change.attach) all.append(batch.data());
  all.append(change.append.data());
  return all;
}

// The noise stands, as it does when rows come and as a noise that is one number does: were it to forget too, then nothing
// would be known of it once all rows of the fit are gone, and its prior allows for any size.
void forget_rows(JointMember& member, std::span<const std::size_t> rows, bool all_in_ledger) {
  if (rows.empty()) return;
  forget(member.function, member.ledger, rows, all_in_ledger);
  erase_rows(member.ledger, rows);
}

}  // namespace

std::size_t joint_ledger_bytes(const Architecture& architecture, std::size_t rows,
                               const RegressorOptions& options) {
  return rows * (architecture.weight_count() + 1) * sizeof(double) * options.ensemble;
}

JointFits fit_joint(const Architecture& architecture, const RegressorOptions& options,
                    std::span<const double> noise_variance, const Rows& rows, bool keep_ledger,
                    const OnProgress& progress, CheckpointFile* checkpoint) {
  const std::size_t targets = noise_variance.size();
  std::mt19937_64 engine(options.seed);
  std::vector<std::uint64_t> seeds(options.ensemble * targets);
  for (std::uint64_t& seed : seeds) seed = engine();
  return learn_all(
      options.ensemble, rows, targets, options, progress,
      [&](std::size_t m, std::size_t k, const auto& go_on, JointMember& member, FitResult& result) {
        const TargetRows own = rows_of(rows, k);
        MemberTrainer trainer(architecture, noise_variance[k], seeds[m * targets + k],
                              selects(options, m), options, go_on);
        trainer.fit(own.view(), {checkpoint, m * targets + k});
        member = trainer.finish(own.view(), keep_ledger);
        note(trainer, targets, result);
        write_cavity(member, own, trainer.variances(), targets, k, result);
        result.ledger_bytes += sizeof(double) * member.ledger.gradients.size();
      });
}

JointFits change_members(const JointMembers& members, const RegressorOptions& options,
                         std::size_t /*batch_size*/, const Change& change,
                         const OnProgress& progress) {
  const std::size_t targets = members.members.size() / options.ensemble;
  const bool with_data = !change.attach.empty();
  const Rows rows = all_rows(change);  // all there are, or only the new ones
  const auto gone = removed_rows(change);
  const bool keeps_ledger = options.ledger == LedgerMode::full;
  JointFits fits = learn_all(
      options.ensemble, rows, targets, options, progress,
      [&](std::size_t m, std::size_t k, const auto& go_on, JointMember& member, FitResult& result) {
        member = members.members[m * targets + k];
        if (!with_data) forget_rows(member, gone, change.all_in_ledger);
        if (rows.rows == 0) return;
        const TargetRows own = rows_of(rows, k);
        MemberTrainer trainer(member, selects(options, m), options, go_on);
        if (with_data) {
          trainer.fit_again(own.view());
          member = trainer.finish(own.view(), keeps_ledger);
        } else {
          trainer.fit_on_top(own.view());
          JointMember after = trainer.finish_on_top(own.view(), keeps_ledger);
          member.function = std::move(after.function);
          append(member.ledger, after.ledger);
        }
        note(trainer, targets, result);
        write_cavity(member, own, trainer.variances(), targets, k, result);
        result.ledger_bytes += sizeof(double) * member.ledger.gradients.size();
      });
  fits.members.shapes = members.shapes;
  return fits;
}

MemberPredictor::MemberPredictor(const JointMember& member)
    : function_(member.function),
      noise_variance_(member.noise_variance),
      noise_inputs_(member.noise_inputs) {
  if (member.log_noise) log_noise_.emplace(*member.log_noise);
}

Prediction MemberPredictor::predict(std::span<const double> inputs, std::size_t rows) const {
  const std::vector<double> zeros(rows);
  Prediction result{zeros, zeros, std::vector<double>(rows, noise_variance_), zeros};
  function_.predict(inputs, rows, result.mean.data(), result.epistemic_variance.data());
  if (!log_noise_) return result;
  const Prediction log_noise =
      log_noise_->predict(noise_inputs(inputs, result.mean, noise_inputs_), rows);
  for (std::size_t n = 0; n < rows; ++n) {
    // E[exp(g)], g ~ N(mean, variance).
    result.noise_variance[n] =
        noise_at(log_noise.mean[n]) * std::exp(log_noise.epistemic_variance[n] / 2);
    result.noise_spread[n] = std::sqrt(log_noise.epistemic_variance[n]);
  }
  return result;
}

JointEnsemble::JointEnsemble(const JointMembers& members, std::size_t targets)
    : targets_(targets),
      inputs_(members.members.front().function.architecture.inputs()),
      members_(members.members.begin(), members.members.end()),
      shapes_(members.shapes) {}

JointEnsemble::~JointEnsemble() = default;
JointEnsemble::JointEnsemble(JointEnsemble&&) noexcept = default;
JointEnsemble& JointEnsemble::operator=(JointEnsemble&&) noexcept = default;

Prediction JointEnsemble::predict(std::span<const double> inputs, std::size_t rows,
                                  std::size_t threads) const {
  const std::vector<double> zeros(rows * targets_);
  std::vector<Prediction> parts(members_.size() / targets_, {zeros, zeros, zeros, zeros});
  parallel_ranges(rows, rows_per_task, threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    const auto own = inputs.subspan(begin * inputs_, count * inputs_);
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const Prediction one = members_[m].predict(own, count);
      Prediction& part = parts[m / targets_];
      for (std::size_t n = 0; n < count; ++n) {
        const std::size_t place = (begin + n) * targets_ + m % targets_;
        part.mean[place] = one.mean[n];
        part.epistemic_variance[place] = one.epistemic_variance[n];
        part.noise_variance[place] = one.noise_variance[n];
        part.noise_spread[place] = one.noise_spread[n];
      }
    }
  });
  Prediction mixture = mix(parts);
  apply_shapes(shapes_, mixture);
  return mixture;
}

}  // namespace dma::detail
