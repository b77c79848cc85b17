// dma._core: the regressor. A Regressor never changes: learning and forgetting return another one, so that threads may
// predict with the old one meanwhile.
#include <dma/data/atomic_file.h>
#include <dma/data/texts.h>
#include <dma/regressor/merging.h>
#include <dma/regressor/model_file.h>
#include <dma/regressor/regressor.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "bindings.h"
#include "rows.h"
#include "watch.h"

namespace py = pybind11;

namespace dma::python {
namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

// ----------------------------------------------------------------------------------------- words for enums

template <class T, std::size_t N>
using Words = std::array<std::pair<const char*, T>, N>;

constexpr Words<BeliefKind, 3> beliefs{{{"auto", BeliefKind::automatic},
                                        {"joint", BeliefKind::joint},
                                        {"independent", BeliefKind::independent}}};
constexpr Words<TargetKind, 5> kinds{{{"auto", TargetKind::automatic},
                                      {"number", TargetKind::number},
                                      {"class", TargetKind::classes},
                                      {"amount", TargetKind::amount},
                                      {"count", TargetKind::count}}};
constexpr Words<Rule, 2> rules{{{"linear", Rule::linear}, {"direct", Rule::direct}}};
constexpr Words<LedgerMode, 3> ledgers{
    {{"full", LedgerMode::full}, {"average", LedgerMode::average}, {"none", LedgerMode::none}}};

template <class T, std::size_t N>
T value_of(const Words<T, N>& words, const std::string& word, const char* option) {
  std::string known;
  for (const auto& [name, value] : words) {
    if (word == name) return value;
    known += (known.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  throw py::value_error(std::string(option) + " must be one of " + known + ", not '" + word + "'");
}

template <class T, std::size_t N>
const char* word_of(const Words<T, N>& words, T value) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const auto& word) { return word.second == value; });
  return found->first;
}

template <class T, std::size_t N>
void bind_word(py::class_<RegressorOptions>& options, const char* name, T RegressorOptions::*member,
               const Words<T, N>& words) {
  options.def_property(
      name, [member, &words](const RegressorOptions& self) { return word_of(words, self.*member); },
      [member, name, &words](RegressorOptions& self, const std::string& word) {
        self.*member = value_of(words, word, name);
      });
}

void bind_names(py::class_<RegressorOptions>& options, const char* name,
                Names RegressorOptions::*member) {
  options.def_property(
      name,
      [member](const RegressorOptions& self) { return std::vector<std::string>(self.*member); },
      [member](RegressorOptions& self, std::vector<std::string> names) {
        self.*member = Names(std::move(names));
      });
}

py::object bounds_of(const std::optional<Bounds>& bounds) {
  if (!bounds) return py::none();
  return py::make_tuple(bounds->low, bounds->high);
}

void bind_options(py::module_& module) {
  py::class_<RegressorOptions> options(module, "Options");
  options.def(py::init<>());
  bind_names(options, "target", &RegressorOptions::target);
  bind_names(options, "features", &RegressorOptions::features);
  bind_names(options, "categorical", &RegressorOptions::categorical);
  bind_word(options, "kind", &RegressorOptions::kind, kinds);
  bind_word(options, "belief", &RegressorOptions::belief, beliefs);
  bind_word(options, "rule", &RegressorOptions::rule, rules);
  bind_word(options, "ledger", &RegressorOptions::ledger, ledgers);
  options.def_property(
      "bounds", [](const RegressorOptions& self) { return bounds_of(self.bounds); },
      [](RegressorOptions& self, const std::optional<std::pair<double, double>>& ends) {
        self.bounds.reset();
        if (ends) self.bounds = Bounds{ends->first, ends->second};
      });
  options.def_readwrite("weight", &RegressorOptions::weight)
      .def_readwrite("hidden", &RegressorOptions::hidden)
      .def_readwrite("slope", &RegressorOptions::slope)
      .def_readwrite("noise", &RegressorOptions::noise)
      .def_readwrite("constant_noise", &RegressorOptions::constant_noise)
      .def_readwrite("keep_ids", &RegressorOptions::keep_ids)
      .def_readwrite("selection", &RegressorOptions::selection)
      .def_readwrite("calibration", &RegressorOptions::calibration)
      .def_readwrite("epochs", &RegressorOptions::epochs)
      .def_readwrite("seconds", &RegressorOptions::seconds)
      .def_readwrite("tolerance", &RegressorOptions::tolerance)
      .def_readwrite("patience", &RegressorOptions::patience)
      .def_readwrite("batch_size", &RegressorOptions::batch_size)
      .def_readwrite("ensemble", &RegressorOptions::ensemble)
      .def_readwrite("seed", &RegressorOptions::seed)
      .def_readwrite("threads", &RegressorOptions::threads)
      .def_readwrite("single_precision", &RegressorOptions::single_precision);
}

// ------------------------------------------------------------------------------------------- predictions

using Array = py::array_t<double>;

Array array_for(const Regressor& self, const Rows& rows) {
  return Array({static_cast<py::ssize_t>(rows.count()),
                static_cast<py::ssize_t>(self.encoder().targets.size())});
}

// Calls take(table, its first row), block by block: numbers are read in place.
template <class Take>
void each_table(const Rows& rows, const Take& take) {
  constexpr std::size_t block = 1 << 15;
  const std::size_t at_once = rows.has_text() ? std::max<std::size_t>(rows.count(), 1) : block;
  for (std::size_t first = 0; first < rows.count(); first += at_once) {
    take(rows.table(first, std::min(at_once, rows.count() - first)), first);
  }
}

// Calls take(predictions, place of the first value), block by block: the mixtures of all rows would take far more memory
// than what is asked of them. Without the interpreter lock.
template <class Take>
void each_block(const Regressor& self, const Rows& rows, std::size_t threads, const Take& take) {
  const std::size_t targets = self.encoder().targets.size();
  each_table(rows, [&](const Table& table, std::size_t first) {
    {
      const py::gil_scoped_release unlocked;
      take(self.predict(table, threads), first * targets);
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  });
}

// N arrays, rows x targets each, from answer(prediction, place), which returns N numbers.
template <std::size_t N, class Answer>
std::array<Array, N> answers(const Regressor& self, const Rows& rows, std::size_t threads,
                             const Answer& answer) {
  std::array<Array, N> arrays;
  std::array<double*, N> out;
  for (std::size_t k = 0; k < N; ++k) {
    arrays[k] = array_for(self, rows);
    out[k] = arrays[k].mutable_data();
  }
  each_block(self, rows, threads, [&](const std::vector<Predicted>& predicted, std::size_t first) {
    for (std::size_t n = 0; n < predicted.size(); ++n) {
      const std::array<double, N> numbers = answer(predicted[n], first + n);
      for (std::size_t k = 0; k < N; ++k) out[k][first + n] = numbers[k];
    }
  });
  return arrays;
}

py::tuple predict(const Regressor& self, const Rows& rows, std::size_t threads) {
  const auto [mean, epistemic, noise] =
      answers<3>(self, rows, threads, [](const Predicted& p, std::size_t) {
        return std::array{p.mean, p.epistemic_std, p.noise_std};
      });
  return py::make_tuple(mean, epistemic, noise);
}

// Of the value, or of the function.
template <Interval (Predicted::*Ends)(const CentralLevel&) const>
py::tuple interval(const Regressor& self, const Rows& rows, double level, std::size_t threads) {
  const auto [lower, upper] = answers<2>(
      self, rows, threads, [central = CentralLevel(level)](const Predicted& p, std::size_t) {
        const Interval ends = (p.*Ends)(central);
        return std::array{ends.lower, ends.upper};
      });
  return py::make_tuple(lower, upper);
}

py::tuple calibrated_interval(const Regressor& self, const Rows& rows, double level,
                              std::size_t threads) {
  std::vector<Tails> tails;
  for (std::size_t k = 0; k < self.encoder().targets.size(); ++k) {
    tails.push_back(self.calibrated_tails(level, k));
  }
  const auto [lower, upper] =
      answers<2>(self, rows, threads, [&](const Predicted& p, std::size_t place) {
        const Tails& own = tails[place % tails.size()];
        return std::array{p.quantile(own.lower), p.quantile(own.upper)};
      });
  return py::make_tuple(lower, upper);
}

Regressor calibrated(const Regressor& self, const Rows& rows) {
  const py::gil_scoped_release unlocked;
  Regressor other = self;
  other.calibrate_intervals(rows.table());
  return other;
}

// Cells that are unlike those of training, counted.
py::list unlike(const Regressor& self, const Rows& rows) {
  using namespace py::literals;
  std::vector<UnseenCells> all;
  {
    const py::gil_scoped_release unlocked;
    each_table(rows, [&](const Table& table, std::size_t) {
      add(self.encoder().encode_inputs(table).unlike, all);
    });
  }
  py::list result;
  for (const UnseenCells& one : all) {
    result.append(py::dict("column"_a = one.column, "what"_a = std::string(name_of(one.what)),
                           "cells"_a = one.cells, "example"_a = one.example, "known"_a = one.known,
                           "place"_a = one.place));
  }
  return result;
}

// What was assumed of columns of text, to be said.
py::dict notes_dict(const ReadingNotes& notes) {
  using namespace py::literals;
  py::list columns;
  for (const ReadingNotes::OfColumn& one : notes.columns) {
    const auto cells = [](const CellNote& note) {
      return py::dict("cells"_a = note.count, "row"_a = note.line, "example"_a = note.value,
                      "number"_a = note.number);
    };
    columns.append(py::dict("column"_a = one.name, "kind"_a = one.is_text ? "dates" : "numbers",
                            "filled"_a = one.filled, "stray"_a = cells(one.stray),
                            "marked"_a = cells(one.marked)));
  }
  return py::dict("decimal_comma"_a = notes.decimal_comma, "columns"_a = columns);
}

// Of rows to fit, whose columns of text these are to stay; of rows for a model.
py::dict read_texts(Rows& rows, const std::vector<std::string>& keep, bool strict) {
  return notes_dict(rows.read_texts([&](Table& table) { dma::read_texts(table, keep, strict); }));
}

// Of a Regressor or a Start.
template <class Encoded>
py::dict read_texts_for(const Encoded& self, Rows& rows, bool strict) {
  return notes_dict(
      rows.read_texts([&](Table& table) { dma::read_texts(table, self.encoder(), strict); }));
}

Array quantile(const Regressor& self, const Rows& rows, double probability, std::size_t threads) {
  return answers<1>(self, rows, threads, [probability](const Predicted& p, std::size_t) {
    return std::array{p.quantile(probability)};
  })[0];
}

// The probabilities, rows x classes; their entropy, and what more rows could remove of it.
py::tuple probabilities(const Regressor& self, const Rows& rows, std::size_t threads) {
  const std::size_t classes = self.encoder().targets.front().classes.size();
  Array probability({rows.count(), classes});
  Array entropy(static_cast<py::ssize_t>(rows.count()));
  Array doubt(static_cast<py::ssize_t>(rows.count()));
  each_block(self, rows, threads,
             [&, to = probability.mutable_data(), entropy_to = entropy.mutable_data(),
              doubt_to = doubt.mutable_data()](const std::vector<Predicted>& predicted,
                                               std::size_t first) {
               for (std::size_t n = 0; n < predicted.size(); ++n) {
                 const Predicted& p = predicted[n];
                 std::copy(p.probabilities.begin(), p.probabilities.end(),
                           to + (first + n) * classes);
                 entropy_to[first + n] = p.entropy();
                 doubt_to[first + n] = p.doubt();
               }
             });
  return py::make_tuple(probability, entropy, doubt);
}

// Of a count: the probabilities of 0 to `most` and of more, rows x (most + 2).
Array count_probabilities(const Regressor& self, const Rows& rows, std::size_t most,
                          std::size_t threads) {
  const std::size_t width = most + 2;
  Array probability({rows.count(), width});
  each_block(self, rows, threads,
             [&, to = probability.mutable_data()](const std::vector<Predicted>& predicted,
                                                  std::size_t first) {
               for (std::size_t n = 0; n < predicted.size(); ++n) {
                 double* row = to + (first + n) * width;
                 for (std::size_t k = 0; k <= most; ++k) {
                   row[k] = std::exp(predicted[n].log_density(static_cast<double>(k)));
                 }
                 row[most + 1] = 1 - predicted[n].cdf(static_cast<double>(most));
               }
             });
  return probability;
}

void require_all(const Regressor& self, const Rows& rows, const Numbers& y) {
  const std::size_t values = rows.count() * self.encoder().targets.size();
  if (static_cast<std::size_t>(y.size()) == values) return;
  throw py::value_error("there are " + std::to_string(y.size()) + " targets and " +
                        std::to_string(values) + " predictions");
}

// One number per prediction and target.
template <double (Predicted::*Measure)(double) const>
Array compare(const Regressor& self, const Rows& rows, const Numbers& y, std::size_t threads) {
  require_all(self, rows, y);
  return answers<1>(self, rows, threads,
                    [values = y.data()](const Predicted& p, std::size_t place) {
                      return std::array{(p.*Measure)(values[place])};
                    })[0];
}

py::dict shares(std::span<const double> levels, std::span<const double> values) {
  py::dict result;
  for (std::size_t k = 0; k < values.size(); ++k) result[py::float_(levels[k])] = values[k];
  return result;
}

py::dict class_metrics_dict(const ClassMetrics& metrics) {
  using namespace py::literals;
  py::list reliability;
  for (const ReliabilityBin& bin : metrics.reliability) {
    reliability.append(py::dict("rows"_a = bin.rows, "confidence"_a = bin.confidence,
                                "accuracy"_a = bin.accuracy));
  }
  py::array_t<double> confusion({metrics.classes, metrics.classes});
  std::copy(metrics.confusion.begin(), metrics.confusion.end(), confusion.mutable_data());
  return py::dict("rows"_a = metrics.rows, "log_loss"_a = metrics.log_loss,
                  "brier"_a = metrics.brier, "accuracy"_a = metrics.accuracy,
                  "balanced_accuracy"_a = metrics.balanced_accuracy,
                  "calibration_error"_a = metrics.calibration_error, "auc"_a = metrics.auc,
                  "reliability"_a = reliability, "confusion"_a = confusion);
}

py::dict metrics_dict(const Metrics& metrics) {
  using namespace py::literals;
  if (metrics.classes) return class_metrics_dict(*metrics.classes);
  return py::dict("rows"_a = metrics.values, "rmse"_a = metrics.rmse, "mae"_a = metrics.mae,
                  "nll"_a = metrics.nll, "crps"_a = metrics.crps,
                  "coverage"_a = shares(Metrics::levels, metrics.coverage),
                  "coverage_curve"_a = shares(Metrics::curve_levels, metrics.coverage_curve),
                  "calibration_error"_a = metrics.calibration_error,
                  "pit"_a = std::vector<double>(metrics.pit.begin(), metrics.pit.end()));
}

// Adds these predictions to the scores, one entry per target; rows without weight are left out. `y` and `weights`, if
// there are any, begin with their first. Tails, per target: see score().
void add_scores(std::vector<Predicted> predicted, const double* y, const double* weights,
                const std::vector<std::vector<Tails>>& tails, std::vector<Metrics>& scores) {
  for (std::size_t k = 0; k < scores.size(); ++k) {
    std::vector<Predicted> own;
    std::vector<double> observed;
    std::vector<double> own_weights;
    for (std::size_t n = k; n < predicted.size(); n += scores.size()) {
      const double weight = weights == nullptr ? 1 : weights[n / scores.size()];
      if (weight == 0) continue;
      own.push_back(std::move(predicted[n]));
      observed.push_back(y[n]);
      own_weights.push_back(weight);
    }
    if (!own.empty()) scores[k] = merged(scores[k], score(observed, own, own_weights, tails[k]));
  }
}

py::list evaluate(const Regressor& self, const Rows& rows, const Numbers& y, bool calibrated,
                  std::size_t threads) {
  require_all(self, rows, y);
  std::vector<Metrics> scores(self.encoder().targets.size());
  std::vector<std::vector<Tails>> tails(scores.size());
  for (std::size_t k = 0; calibrated && k < tails.size(); ++k) tails[k] = self.calibrated_curve(k);
  each_block(self, rows, threads,
             [&, values = y.data()](std::vector<Predicted> predicted, std::size_t first) {
               const double* weights =
                   rows.weights().empty() ? nullptr : rows.weights().data() + first / scores.size();
               add_scores(std::move(predicted), values + first, weights, tails, scores);
             });
  if (scores.front().values == 0) throw py::value_error("no row has a weight above 0");
  py::list result;
  for (const Metrics& metrics : scores) result.append(metrics_dict(metrics));
  return result;
}

// Of classes: `rows` hold their own targets. All at once, because the area under the curve needs all rows.
py::dict evaluate_classes(const Regressor& self, const Rows& rows, std::size_t threads) {
  std::vector<Metrics> scores;
  {
    const py::gil_scoped_release unlocked;
    scores = self.evaluate(rows.table(), threads);
  }
  return metrics_dict(scores.front());
}

// --------------------------------------------------------------------------------------------- reports

py::dict certificate_dict(const Certificate& certificate) {
  using namespace py::literals;
  py::list layers;
  for (const LayerCertificate& layer : certificate.layers) {
    layers.append(py::dict(
        "product_messages"_a = layer.product_messages, "share_below_two"_a = layer.share_below_two,
        "signal_to_noise"_a = layer.signal_to_noise, "uniform_messages"_a = layer.uniform_messages,
        "smallest_precision"_a = layer.smallest_precision,
        "largest_precision"_a = layer.largest_precision));
  }
  const Bounded& bounded = certificate.bounded;
  py::dict result("examples"_a = certificate.examples,
                  "bounded"_a = py::dict("prior_precisions"_a = bounded.prior_precisions,
                                         "noise_variances"_a = bounded.noise_variances,
                                         "noise_levels"_a = bounded.noise_levels),
                  "layers"_a = layers);
  if (certificate.negative_messages) result["negative_messages"] = *certificate.negative_messages;
  if (const auto& joint = certificate.joint) {
    result["joint"] =
        py::dict("linearisation_error"_a = joint->linearisation_error,
                 "largest_leverage"_a = joint->largest_leverage, "rows_alone"_a = joint->rows_alone,
                 "damping"_a = joint->damping, "step_left"_a = joint->step_left);
  }
  return result;
}

py::list shapes_list(const Regressor& self) {
  using namespace py::literals;
  py::list shapes;
  for (const ShapeReport& shape : self.report().shapes) {
    shapes.append(py::dict("target"_a = self.encoder().targets[shape.target].name,
                           "hidden"_a = py::tuple(py::cast(shape.hidden)), "ramps"_a = shape.ramps,
                           "weights"_a = shape.weights, "weight"_a = shape.weight,
                           "epochs"_a = shape.epochs, "held_out_nll"_a = shape.held_out_nll));
  }
  return shapes;
}

// A fit that was stopped early may have none.
py::dict cavity_dict(const Regressor& self, const Metrics& metrics) {
  if (metrics.values > 0 || !self.encoder().has_classes()) return metrics_dict(metrics);
  const std::size_t classes = self.encoder().targets.front().classes.size();
  return class_metrics_dict(
      {.classes = classes, .confusion = std::vector<double>(classes * classes)});
}

// None: the model was not fitted from a start.
py::object start_dict(const Model& model) {
  using namespace py::literals;
  if (!model.start) return py::none();
  py::list parts;
  for (const SharedStart::Part& part : model.start->parts) {
    parts.append(py::dict("digest"_a = digest_text(part.digest), "rows"_a = part.rows));
  }
  return py::dict("digest"_a = digest_text(model.start->digest), "round"_a = model.start->round,
                  "parts"_a = parts);
}

py::dict report_dict(const Regressor& self) {
  using namespace py::literals;
  const FitReport& report = self.report();
  py::list cavity;
  for (const Metrics& metrics : report.cavity) cavity.append(cavity_dict(self, metrics));
  py::dict dropped;
  for (const DroppedColumn& column : self.encoder().dropped) {
    dropped[py::str(column.name)] = column.reason;
  }
  return py::dict(
      "start"_a = start_dict(self.model()), "rows"_a = report.rows, "copies"_a = report.copies,
      "rows_without_weight"_a = report.rows_without_weight, "rows_changed"_a = report.rows_changed,
      "weights"_a = report.weights, "layers"_a = report.layers, "shapes"_a = shapes_list(self),
      "members"_a = self.model().members.size(), "batches"_a = report.batches,
      "batch_size"_a = report.batch_size, "epochs"_a = report.epochs,
      "stopped"_a = std::string(name_of(report.stopped)),
      "kind"_a = std::string(name_of(self.encoder().targets.front().kind)),
      "bounds"_a = bounds_of(self.encoder().targets.front().bounds.any()
                                 ? std::optional(self.encoder().targets.front().bounds)
                                 : std::nullopt),
      "kind_reason"_a = self.encoder().targets.front().reason, "noise_std"_a = report.noise_std,
      "noise_at_floor"_a = report.noise_at_floor, "train_nll"_a = report.train_nll,
      "cavity"_a = cavity, "cavity_nll"_a = report.cavity_nll(),
      "cavity_coverage"_a = shares(Metrics::levels, report.cavity_coverage()),
      "training"_a = report.training, "seconds"_a = report.seconds,
      "ledger_bytes"_a = report.ledger_bytes, "dropped"_a = dropped,
      "certificate"_a = certificate_dict(report.certificate));
}

py::dict distance_dict(const Distance& distance) {
  using namespace py::literals;
  return py::dict("rows"_a = distance.rows, "mean_shift"_a = distance.mean_shift,
                  "largest_shift"_a = distance.largest_shift,
                  "mean_std_ratio"_a = distance.mean_std_ratio);
}

py::dict change_dict(const ChangeReport& report) {
  using namespace py::literals;
  return py::dict(
      "rows_added"_a = report.rows_added, "rows_without_weight"_a = report.rows_without_weight,
      "rows_known"_a = report.rows_known, "rows_removed"_a = report.rows_removed,
      "copies_left"_a = report.copies_left, "rows_lost"_a = report.rows_lost,
      "rows_put_back"_a = report.rows_put_back, "batches_removed"_a = report.batches_removed,
      "batches_reduced"_a = report.batches_reduced, "batches_added"_a = report.batches_added,
      "batches_swept"_a = report.batches_swept, "epochs"_a = report.epochs,
      "stopped"_a = std::string(name_of(report.stopped)), "moved_on"_a = report.moved_on,
      "moved"_a = distance_dict(report.moved),
      "compared"_a = report.compared ? py::object(distance_dict(*report.compared)) : py::none(),
      "new_rows_nll"_a = report.new_rows_nll, "seconds"_a = report.seconds);
}

// --------------------------------------------------------------------------------------------- weights

// Means and standard deviations of a layer, units x inputs, a bias last.
py::tuple layer_weights(const Dense& layer, const WeightMoments& moments) {
  const std::array shape{layer.units, layer.inputs};
  Array mean(shape);
  Array deviation(shape);
  layer.each_weight([&](std::size_t weight, std::size_t unit, std::size_t input) {
    mean.mutable_at(unit, input) = moments.mean[weight];
    deviation.mutable_at(unit, input) = std::sqrt(moments.variance[weight]);
  });
  return py::make_tuple(mean, deviation);
}

// Layer by layer, for every member: they may differ in shape.
py::list weights(const Regressor& self) {
  py::list result;
  for (const Member& member : self.model().members) {
    const Architecture& architecture = member.belief->architecture();
    const WeightMoments moments = member.belief->weights();
    py::list layers;
    for (std::size_t l = 0; l < architecture.layers(); ++l) {
      layers.append(layer_weights(architecture.layer(l), moments));
    }
    result.append(layers);
  }
  return result;
}

// --------------------------------------------------------------------------------------------- learning

// Classes are texts, or numbers as the library writes them.
template <class Encoded>
py::list classes(const Encoded& self) {
  const TargetColumn& target = self.encoder().targets.front();
  py::list result;
  for (const std::string& name : target.classes) {
    if (target.text) {
      result.append(py::str(name));
    } else {
      result.append(py::float_(py::str(name)));
    }
  }
  return result;
}

std::string class_name(const py::handle& value) {
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  std::array<char, 32> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value.cast<double>());
  return {text.data(), written.ptr};
}

std::vector<std::string> class_names(const py::list& values) {
  std::vector<std::string> names;
  for (const py::handle value : values) names.push_back(class_name(value));
  return names;
}

// Classes that no row of the table has, but rows that come later may.
void add_classes(const std::vector<std::string>& names, TargetColumn& target) {
  for (const std::string& name : names) {
    if (std::find(target.classes.begin(), target.classes.end(), name) != target.classes.end()) {
      continue;
    }
    target.classes.push_back(name);
    target.class_rows.push_back(0);
  }
}

py::tuple fit(const Rows& rows, const RegressorOptions& options, const py::object& show,
              const std::string& checkpoint, const py::list& all_classes) {
  const std::vector<std::string> names = class_names(all_classes);
  auto [fitted, raised] = watch(show, [&](const OnProgress& progress) {
    Table table = rows.table();
    Encoder encoder = Regressor::encoder_for(table, options);
    add_classes(names, encoder.targets.front());
    return Regressor::fit(std::move(table), std::move(encoder), options, progress,
                          {.path = checkpoint});
  });
  return py::make_tuple(std::move(fitted), raised);
}

struct Changed {
  Regressor regressor;
  ChangeReport report;
};

// Rows to learn or forget, or the number of a batch.
template <class What>
using Change = ChangeReport (*)(Regressor&, const What&, const ChangeOptions&);

// A method that changes a copy; if the training rows are given, they are swept again.
template <class What>
void bind_change(py::class_<Regressor>& regressor, const char* name, const char* what_name,
                 Change<What> change) {
  const auto method = [change](const Regressor& self, const What& what, const Rows* data,
                               bool compare, std::size_t threads, const py::object& show) {
    auto [changed, raised] = watch(show, [&](const OnProgress& progress) {
      Model copy = self.model();
      copy.options.threads = threads;
      Regressor next(std::move(copy));
      const Table table = data != nullptr ? data->table() : Table{};
      const ChangeOptions options{data != nullptr ? &table : nullptr, compare, progress};
      const ChangeReport report = change(next, what, options);
      return Changed{std::move(next), report};
    });
    return py::make_tuple(std::move(changed.regressor), change_dict(changed.report), raised);
  };
  regressor.def(name, method, py::arg(what_name), py::arg("data") = nullptr,
                py::arg("compare") = false, py::arg("threads") = 0, py::arg("show") = py::none());
}

void bind_changes(py::class_<Regressor>& regressor) {
  bind_change<Rows>(regressor, "update", "rows",
                    [](Regressor& self, const Rows& rows, const ChangeOptions& options) {
                      return self.update(rows.table(), options);
                    });
  bind_change<Rows>(regressor, "forget_rows", "rows",
                    [](Regressor& self, const Rows& rows, const ChangeOptions& options) {
                      return self.forget_rows(rows.table(), options);
                    });
  bind_change<std::size_t>(
      regressor, "forget_batch", "batch",
      [](Regressor& self, const std::size_t& batch, const ChangeOptions& options) {
        return self.forget_batch(batch, options);
      });
}

py::array_t<double> sample(const Regressor& self, const Rows& rows, std::size_t count,
                           std::uint64_t seed, bool noise) {
  std::vector<double> values;
  {
    const py::gil_scoped_release unlocked;
    values = self.sample(rows.table(), count, seed, noise);
  }
  return py::array_t<double>(
      std::array<std::size_t, 3>{count, rows.count(), self.encoder().targets.size()},
      values.data());
}

// Per target a list of (column, share, lower, upper), the largest first; empty if the rows are not known.
py::list column_importance(const Regressor& self, const Rows* rows, std::size_t threads) {
  std::vector<std::vector<ColumnShare>> all;
  {
    const py::gil_scoped_release unlocked;
    const Table table = rows != nullptr ? rows->table() : Table{};
    all = self.column_importance(rows != nullptr ? &table : nullptr, threads);
  }
  py::list result;
  for (const auto& shares : all) {
    py::list list;
    for (const ColumnShare& one : shares) {
      list.append(py::make_tuple(one.column, one.share, one.lower, one.upper));
    }
    result.append(list);
  }
  return result;
}

// In Python, a file that cannot be written is an OSError, and one that is not a model a ValueError. Of a Regressor or a
// Start.
template <class Saved, class... Options>
void save(const Saved& self, const std::filesystem::path& path, Options... options) {
  try {
    if constexpr (sizeof...(options) > 0) {
      self.save(path, SaveOptions{options...});
    } else {
      self.save(path);
    }
  } catch (const ModelError& error) {
    throw FileError(error.what());
  }
}

template <class Saved>
py::bytes to_bytes(const Saved& self) {
  const auto bytes = self.to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Saved>
Saved from_bytes(const py::bytes& state) {
  const auto bytes = static_cast<std::string_view>(state);
  return Saved::from_bytes(std::as_bytes(std::span(bytes)));
}

template <class Encoded>
std::vector<std::string> features_of(const Encoded& self) {
  std::vector<std::string> names;
  for (const FeatureColumn& column : self.encoder().features) names.push_back(column.name);
  return names;
}

Regressor fit_from(const Start& self, const Rows& rows, std::size_t threads) {
  const py::gil_scoped_release unlocked;
  return self.fit(rows.table(), threads);
}

// Also how many rows of tables are alike in several parts.
py::tuple merge(const std::vector<Regressor>& parts) {
  const auto run = [&] {
    const py::gil_scoped_release unlocked;
    return Regressor::merge(parts);
  };
  Regressor merged = run();
  return py::make_tuple(std::move(merged), rows_in_several(parts));
}

void bind_start(py::module_& module) {
  py::class_<Start>(module, "Start")
      .def_static("of", &Start::from, py::arg("model"), py::call_guard<py::gil_scoped_release>())
      .def("fit", &fit_from, py::arg("rows"), py::arg("threads") = 0)
      .def("read_texts", &read_texts_for<Start>, py::arg("rows"), py::arg("strict"))
      .def("save", &save<Start>, py::arg("path"), py::call_guard<py::gil_scoped_release>())
      .def_static("load", &Start::load, py::arg("path"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("options", [](const Start& self) { return self.model().options; })
      .def_property_readonly("classes", &classes<Start>)
      .def_property_readonly("features", &features_of<Start>)
      .def_property_readonly("digest",
                             [](const Start& self) { return digest_text(self.shared().digest); })
      .def_property_readonly("round", [](const Start& self) { return self.shared().round; })
      .def(py::pickle(&to_bytes<Start>, &from_bytes<Start>));
  module.def("merge", &merge, py::arg("parts"));
}

void bind_predictions(py::class_<Regressor>& regressor) {
  const py::arg_v threads = py::arg("threads") = 0;
  regressor.def("predict", &predict, py::arg("rows"), threads)
      .def("interval", &interval<&Predicted::interval>, py::arg("rows"), py::arg("level"), threads)
      .def("calibrated_interval", &calibrated_interval, py::arg("rows"), py::arg("level"), threads)
      .def("calibrated", &calibrated, py::arg("rows"))
      .def("unlike", &unlike, py::arg("rows"))
      .def("read_texts", &read_texts_for<Regressor>, py::arg("rows"), py::arg("strict"))
      .def("function_interval", &interval<&Predicted::function_interval>, py::arg("rows"),
           py::arg("level"), threads)
      .def("quantile", &quantile, py::arg("rows"), py::arg("probability"), threads)
      .def("log_density", &compare<&Predicted::log_density>, py::arg("rows"), py::arg("targets"),
           threads)
      .def("cdf", &compare<&Predicted::cdf>, py::arg("rows"), py::arg("targets"), threads)
      .def("evaluate", &evaluate, py::arg("rows"), py::arg("targets"), py::arg("calibrated"),
           threads)
      .def("probabilities", &probabilities, py::arg("rows"), threads)
      .def("count_probabilities", &count_probabilities, py::arg("rows"), py::arg("most"), threads)
      .def("evaluate_classes", &evaluate_classes, py::arg("rows"), threads);
}

void bind_class(py::module_& module) {
  py::class_<Regressor> regressor(module, "Regressor");
  bind_changes(regressor);
  bind_predictions(regressor);
  regressor
      .def("sample", &sample, py::arg("rows"), py::arg("count"), py::arg("seed"),
           py::arg("noise") = true)
      .def("column_importance", &column_importance, py::arg("rows") = nullptr,
           py::arg("threads") = 0)
      .def("save", &save<Regressor, bool, bool>, py::arg("path"), py::arg("slim") = false,
           py::arg("fast_load") = false, py::call_guard<py::gil_scoped_release>())
      .def_static("load", &Regressor::load, py::arg("path"),
                  py::call_guard<py::gil_scoped_release>())
      .def("report", &report_dict)
      .def("weights", &weights)
      .def_property_readonly("options", [](const Regressor& self) { return self.model().options; })
      .def_property_readonly("classes", &classes<Regressor>)
      .def_property_readonly("features", &features_of<Regressor>)
      .def_property_readonly("input_names",
                             [](const Regressor& self) { return self.encoder().input_names(); })
      .def_property_readonly("batch_rows",
                             [](const Regressor& self) { return self.model().batch_rows; })
      .def(py::pickle(&to_bytes<Regressor>, &from_bytes<Regressor>));
}

}  // namespace

void bind_regressor(py::module_& module) {
  py::class_<Rows>(module, "Rows")
      .def(py::init<std::string, const std::vector<std::string>&, const py::list&,
                    std::vector<double>>(),
           py::arg("source"), py::arg("names"), py::arg("columns"),
           py::arg("weights") = std::vector<double>())
      .def("read_texts", &read_texts, py::arg("keep"), py::arg("strict"))
      .def("__len__", &Rows::count);
  bind_options(module);
  bind_class(module);
  bind_start(module);
  module.attr("most_classes") = most_classes;
  module.def("fit", &fit, py::arg("rows"), py::arg("options"), py::arg("show") = py::none(),
             py::arg("checkpoint") = "", py::arg("classes") = py::list());
}

}  // namespace dma::python
