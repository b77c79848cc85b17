// Regressor::update and forget: add and remove rows without changing the rest of the ledger.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include "base/require.h"
#include "regressor/effects.h"
#include "regressor/fit.h"
#include "regressor/mixture.h"
#include "regressor/shared_start.h"

namespace dma {
namespace {

using detail::Change;
using detail::require;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double shift_of(const Predicted& now, const Predicted& other) {
  if (now.probabilities.empty()) return std::abs(now.mean - other.mean) / other.stddev();
  double sum = 0;
  for (std::size_t k = 0; k < now.probabilities.size(); ++k) {
    sum += std::abs(now.probabilities[k] - other.probabilities[k]) / 2;
  }
  return sum;
}

Distance distance(const std::vector<Predicted>& now, const std::vector<Predicted>& other) {
  Distance result;
  result.rows = now.size();
  double log_ratio = 0;
  for (std::size_t n = 0; n < now.size(); ++n) {
    const double shift = shift_of(now[n], other[n]);
    result.mean_shift += shift / static_cast<double>(now.size());
    result.largest_shift = std::max(result.largest_shift, shift);
    if (now[n].probabilities.empty()) log_ratio += std::log(now[n].stddev() / other[n].stddev());
  }
  if (!now.empty()) result.mean_std_ratio = std::exp(log_ratio / static_cast<double>(now.size()));
  return result;
}

// One standard normal row per probe, for when no rows are available.
Rows probes(std::size_t width) {
  constexpr std::size_t count = 256;
  special::Random random(1);
  Rows rows{count, std::vector<double>(count * width), {}};
  for (double& value : rows.inputs) value = random.normal();
  return rows;
}

std::size_t batches_of(std::size_t rows, std::size_t batch_size) {
  return rows / batch_size + (rows % batch_size == 0 ? 0 : 1);
}

// A row of a model: what it counts, and how many rows of tables it stands for.
struct KnownRow {
  std::uint64_t hash;
  double weight;
  std::size_t copies;

  // Without so many copies, each of which has the same share of the weight.
  KnownRow without(std::size_t gone) const {
    const double share = static_cast<double>(copies - gone) / static_cast<double>(copies);
    return {hash, weight * share, copies - gone};
  }
};

KnownRow known_row(const Model& model, std::size_t row) {
  return {model.row_hashes[row], model.row_weights.empty() ? 1 : model.row_weights[row],
          model.row_copies.empty() ? 1 : model.row_copies[row]};
}

// Rows one after the other, as a model keeps them.
struct KnownRows {
  detail::RowNames names = {};
  std::vector<double> weights = {};

  void append(const KnownRow& row) {
    names.hashes.push_back(row.hash);
    names.copies.push_back(row.copies);
    weights.push_back(row.weight);
  }
  void append(const KnownRows& more) {
    names.hashes.insert(names.hashes.end(), more.names.hashes.begin(), more.names.hashes.end());
    names.copies.insert(names.copies.end(), more.names.copies.begin(), more.names.copies.end());
    weights.insert(weights.end(), more.weights.begin(), more.weights.end());
  }
};

// Finds rows of a model by their hash; one that stands for several is found as often.
class RowFinder {
 public:
  explicit RowFinder(const Model& model) {
    for (std::size_t n = model.row_hashes.size(); n-- > 0;) {
      places_[model.row_hashes[n]].push_back({n, known_row(model, n).copies});
    }
  }
  std::optional<std::size_t> take(std::uint64_t hash) {
    const auto found = places_.find(hash);
    if (found == places_.end() || found->second.empty()) return std::nullopt;
    Place& place = found->second.back();
    const std::size_t row = place.row;
    if (--place.left == 0) found->second.pop_back();
    return row;
  }

 private:
  struct Place {
    std::size_t row, left;
  };
  std::unordered_map<std::uint64_t, std::vector<Place>> places_;
};

// How many rows of tables the model has learnt that are like one of these.
std::size_t copies_of(const std::vector<std::uint64_t>& hashes, const Model& model) {
  const std::unordered_set<std::uint64_t> alike(hashes.begin(), hashes.end());
  std::size_t sum = 0;
  for (std::size_t n = 0; n < model.row_hashes.size(); ++n) {
    if (alike.contains(model.row_hashes[n])) sum += known_row(model, n).copies;
  }
  return sum;
}

std::size_t count_known(const std::vector<std::uint64_t>& hashes, const Model& model) {
  const std::unordered_set<std::uint64_t> known(model.row_hashes.begin(), model.row_hashes.end());
  return static_cast<std::size_t>(std::count_if(
      hashes.begin(), hashes.end(), [&](std::uint64_t hash) { return known.contains(hash); }));
}

// A planned change of a model: which rows go, stay and come.
struct Plan {
  Change change;
  KnownRows kept, appended;
  Rows remaining;  // all rows of the changed model, if the training rows are given
};

// The training rows, each of which may stand there several times; their effects are to be learnt anew.
class TrainingRows {
 public:
  TrainingRows(const Table& table, const Encoder& encoder)
      : rows_(encoder.encode_values(table, UseWeights::ignored)) {
    for (std::size_t n = 0; n < rows_.rows; ++n) places_.emplace(rows_.hashes[n], n);
  }
  // Adds a row of the model, with what it counts there; false if it is not here.
  bool append(const KnownRow& row, Rows& to) const {
    const auto found = places_.find(row.hash);
    if (found == places_.end()) return false;
    Data own = Data{rows_.inputs, rows_.targets, rows_.rows}.part(found->second, 1);
    if (row.weight != 1) own.weights = {&row.weight, 1};
    to.append(own);
    return true;
  }

 private:
  EncodedRows rows_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
};

// Plans what stays of the model: batches that are not removed, with their rows if the data are given. `gone` says how many
// copies of each row are to be removed; what else a removed batch has is appended.
Plan plan_change(const Model& model, const std::vector<std::size_t>& gone, const Change& change,
                 const Table* data) {
  Plan plan;
  plan.change = change;
  std::optional<TrainingRows> known;
  if (data != nullptr) known.emplace(*data, model.encoder);
  std::size_t missing = 0;
  std::size_t row = 0;
  for (std::size_t b = 0; b < model.batch_rows.size(); ++b) {
    const bool removed = std::binary_search(change.remove.begin(), change.remove.end(), b);
    Rows batch;
    for (const std::size_t end = row + model.batch_rows[b]; row < end; ++row) {
      const KnownRow left = known_row(model, row).without(gone[row]);
      if (!removed) plan.kept.append(left);
      if (!known || left.copies == 0) continue;
      if (!known->append(left, removed ? plan.change.append : batch)) {
        ++missing;
      } else if (removed) {
        plan.appended.append(left);
      }
    }
    if (known && !removed) plan.change.attach.push_back(std::move(batch));
  }
  if (missing > 0) {
    throw DataError(data->source + ": " + std::to_string(missing) + " of the model's " +
                    std::to_string(row) +
                    " rows are not in it; give the file(s) that the model was fitted to");
  }
  for (const Rows& batch : plan.change.attach) plan.remaining.append(batch.data());
  plan.remaining.append(plan.change.append.data());
  return plan;
}

void require_old_rows(const Model& model, const ChangeOptions& options) {
  require(options.data != nullptr || !options.compare,
          "comparing with a new fit needs the training rows");
  require(options.data == nullptr || known_rows(model) == model.report.rows,
          model.report.stream ? "the model was learnt from a stream and does not know its rows, so "
                                "they cannot be learnt again"
                              : "the model was saved slim and no longer knows its rows, so they "
                                "cannot be learnt again");
}

bool fits_anew(const Model& model, const ChangeOptions& options) {
  return options.data != nullptr && model.options.belief == BeliefKind::joint;
}

template <class T>
std::vector<T> unless_all_one(std::vector<T> numbers) {
  const bool all = std::all_of(numbers.begin(), numbers.end(), [](T one) { return one == T{1}; });
  return all ? std::vector<T>{} : std::move(numbers);
}

// A joint belief that has all rows is fitted anew: how long to learn and how large the noise is, only rows that were not
// learnt can say.
Model fit_anew(const Model& model, Plan& plan, const ChangeOptions& options, ChangeReport& report) {
  plan.kept.append(plan.appended);
  EncodedRows all{.rows = plan.remaining.rows,
                  .inputs = plan.remaining.inputs,
                  .targets = plan.remaining.targets,
                  .hashes = std::move(plan.kept.names.hashes)};
  all.weights = plan.remaining.weights;
  all.copies = unless_all_one(std::move(plan.kept.names.copies));
  detail::merge_copies(all);  // a row may have come twice
  Encoder encoder = model.encoder;
  detail::learn_effects(encoder, all);
  const std::size_t batches = model.batch_rows.size() - plan.change.remove.size();
  Model next = detail::fit_rows(
      std::move(encoder), model.options,
      {all.rows, std::move(all.inputs), std::move(all.targets), std::move(all.weights)},
      {std::move(all.hashes), std::move(all.copies)}, options.progress);
  report.batches_removed = plan.change.remove;
  report.batches_added = next.batch_rows.size() - std::min(batches, next.batch_rows.size());
  report.batches_swept = next.batch_rows.size();
  report.epochs = next.report.epochs;
  report.stopped = next.report.stopped;
  next.report.rows_without_target = model.report.rows_without_target;
  next.report.rows_without_weight = model.report.rows_without_weight;
  return next;
}

std::size_t known_copies(const Model& model) { return known_rows(model) - model.row_hashes.size(); }

// Carries out the plan on a copy of the model, and reports what happened.
Model carry_out(const Model& model, Plan& plan, const ChangeOptions& options,
                ChangeReport& report) {
  if (fits_anew(model, options)) return fit_anew(model, plan, options, report);
  Model next{model.options, model.encoder, {}, {}, {}, model.calibrations, model.report};
  const std::size_t batch_size = model.report.batch_size;
  const std::size_t appended = plan.change.append.rows;
  for (std::size_t b = 0; b < model.batch_rows.size(); ++b) {
    if (!std::binary_search(plan.change.remove.begin(), plan.change.remove.end(), b)) {
      next.batch_rows.push_back(model.batch_rows[b]);
    }
  }
  for (std::size_t first = 0; first < appended; first += batch_size) {
    next.batch_rows.push_back(std::min(batch_size, appended - first));
  }
  plan.kept.append(plan.appended);
  next.row_hashes = std::move(plan.kept.names.hashes);
  next.row_copies = unless_all_one(std::move(plan.kept.names.copies));
  next.row_weights = unless_all_one(std::move(plan.kept.weights));
  report.batches_reduced = plan.change.reduce.size();
  report.batches_removed = plan.change.remove;
  report.batches_added = batches_of(appended, batch_size);
  report.batches_swept = plan.change.attach.size() + report.batches_added;
  detail::FittedMembers changed = detail::change_members(model, plan.change, options.progress);
  next.members = std::move(changed.members);
  const std::vector<FitResult>& results = changed.results;
  // Of the rows that are kept to show nobody knows which are to be forgotten.
  if (report.rows_removed > 0) next.report.held_out.clear();
  if (report.batches_swept > 0) {
    report.epochs = detail::most_epochs(results);
    report.stopped = detail::why_stopped(results);
    if (options.data != nullptr) {
      detail::report_fit(results, detail::mixed_cavity(results, plan.remaining.rows, next),
                         plan.remaining, next);
    }
  }
  if (options.data == nullptr) {
    next.report.rows_changed += report.rows_added + report.rows_removed + report.rows_lost;
  }
  next.report.rows = model.report.rows - known_rows(model) + known_rows(next);
  next.report.copies = model.report.copies - known_copies(model) + known_copies(next);
  next.report.batches = next.batch_rows.size();
  return next;
}

// The rows that a change is measured on.
struct LookedAt {
  const Rows& rows;
  const char* name;
};

// Carries out the plan, measures the change and returns the new model.
Model finish(const Model& model, Plan& plan, const LookedAt& looked_at,
             const ChangeOptions& options, ChangeReport& report) {
  const auto predict = [&](const Model& of) {
    std::vector<double> inputs = looked_at.rows.inputs;
    if (options.data != nullptr) of.encoder.put_effects(inputs);
    return detail::Mixture(of).predict(of, inputs, looked_at.rows.rows, of.options.threads);
  };
  const auto before = predict(model);
  Model next = carry_out(model, plan, options, report);
  const auto after = predict(next);
  report.moved_on = looked_at.name;
  report.moved = distance(after, before);
  if (options.data != nullptr) {
    next.report.train_nll =
        detail::mean_nll(after, looked_at.rows.data().weighted_targets(), next.encoder);
  }
  if (options.compare && fits_anew(model, options)) {
    report.compared = distance(after, after);
  } else if (options.compare) {
    const Model anew = detail::fit_rows(model.encoder, model.options, plan.remaining,
                                        {next.row_hashes, next.row_copies}, {});
    report.compared = distance(after, predict(anew));
  }
  return next;
}

// A share can stay of what a single row said; with the training rows it is learnt anew.
bool can_be_reduced(const Model& model, std::size_t batch, const ChangeOptions& options) {
  return options.data == nullptr && model.batch_rows[batch] == 1;
}

// Which batches go because copies of rows go, and how many rows with them.
Change batches_without(const Model& model, const std::vector<std::size_t>& gone,
                       const ChangeOptions& options, ChangeReport& report) {
  Change change;
  std::size_t others = 0;
  for (std::size_t b = 0, row = 0; b < model.batch_rows.size(); ++b) {
    std::size_t count = 0;
    std::size_t all = 0;
    for (const std::size_t end = row + model.batch_rows[b]; row < end; ++row) {
      count += gone[row];
      all += known_row(model, row).copies;
    }
    if (count == 0) continue;
    report.rows_removed += count;
    if (count < all && can_be_reduced(model, b, options)) {
      change.reduce.push_back({b, static_cast<double>(all - count) / static_cast<double>(all)});
      continue;
    }
    change.remove.push_back(b);
    others += all - count;
  }
  (options.data != nullptr ? report.rows_put_back : report.rows_lost) = others;
  return change;
}

// ------------------------------------------------------------------------------- at the centre of a start

void require_no_old_rows(const ChangeOptions& options) {
  require(options.data == nullptr,
          "a model that was fitted from a start needs no other rows: what a row said is computed "
          "from the row; leave --data out");
}

std::vector<Predicted> predictions_of(const Model& model, const Rows& rows) {
  return detail::Mixture(model).predict(model, rows.inputs, rows.rows, model.options.threads);
}

// Measured on the rows that came or went.
void finish_at_start(const Model& model, Model& next, const LookedAt& looked_at,
                     ChangeReport& report) {
  report.epochs = 1;
  report.stopped = Stopped::tolerance;
  report.moved_on = looked_at.name;
  report.moved =
      distance(predictions_of(next, looked_at.rows), predictions_of(model, looked_at.rows));
  next.report.train_nll = std::numeric_limits<double>::quiet_NaN();
  next.probabilities_below.clear();
  next.held_out_below = false;
}

Model learn_at_start(const Model& model, EncodedRows fresh, ChangeReport& report) {
  detail::merge_copies(fresh);
  const Rows added{fresh.rows, fresh.inputs, fresh.targets, fresh.weights};
  const Model part = detail::learnt_at_start(model, std::move(fresh), model.options.threads);
  Model next = detail::summed(std::array{&model, &part});
  finish_at_start(model, next, {added, "the new rows"}, report);
  return next;
}

// The given rows count what they count in the model.
Model forget_at_start(const Model& model, const std::vector<std::size_t>& gone, const Rows& given,
                      ChangeReport& report) {
  KnownRows kept;
  for (std::size_t row = 0; row < gone.size(); ++row) {
    report.rows_removed += gone[row];
    const KnownRow left = known_row(model, row).without(gone[row]);
    if (left.copies > 0) kept.append(left);
  }
  require(model.report.rows > report.rows_removed,
          "no rows would be left; delete the model instead");
  Model next = detail::without_messages_of(model, given.data(), model.options.threads);
  next.row_hashes = std::move(kept.names.hashes);
  next.row_copies = unless_all_one(std::move(kept.names.copies));
  next.row_weights = unless_all_one(std::move(kept.weights));
  next.report.rows -= report.rows_removed;
  next.report.copies = model.report.copies - known_copies(model) + known_copies(next);
  next.report.rows_changed += report.rows_removed;
  finish_at_start(model, next, {given, "the forgotten rows"}, report);
  return next;
}

// The model without these copies of rows.
Model forget(const Model& model, const std::vector<std::size_t>& gone, const Rows* given,
             const ChangeOptions& options, ChangeReport& report) {
  const auto start = std::chrono::steady_clock::now();
  if (model.start) {
    require_no_old_rows(options);
    Model next = forget_at_start(model, gone, *given, report);
    report.seconds = seconds_since(start);
    return next;
  }
  require_old_rows(model, options);
  require(
      model.options.ledger == LedgerMode::full || fits_anew(model, options),
      model.options.belief == BeliefKind::joint
          ? "the model does not keep what each row taught: to forget, it needs the rows that it "
            "was fitted to (--data)"
          : "only a model with the ledger 'full' can forget: the others do not keep what a batch "
            "taught");
  const Change change_of_batches = batches_without(model, gone, options, report);
  Plan plan = plan_change(model, gone, change_of_batches, options.data);
  require(model.report.rows > report.rows_removed + report.rows_lost,
          "no rows would be left; delete the model instead");
  const auto change = [&](const LookedAt& looked_at) {
    Model next = finish(model, plan, looked_at, options, report);
    report.seconds = seconds_since(start);
    return next;
  };
  if (plan.remaining.rows > 0) return change({plan.remaining, "the remaining rows"});
  if (given != nullptr) return change({*given, "the forgotten rows"});
  return change({probes(model.encoder.width()), "random inputs"});
}

KnownRows names_of(const EncodedRows& rows) {
  KnownRows names;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    names.append({rows.hashes[n], rows.weights.empty() ? 1 : rows.weights[n],
                  rows.copies.empty() ? 1 : rows.copies[n]});
  }
  return names;
}

// Those of another encoder with the same columns.
void take_effects(const Encoder& from, Encoder& to) {
  for (std::size_t k = 0; k < to.features.size(); ++k) {
    to.features[k].value_weights = from.features[k].value_weights;
    to.features[k].effects = from.features[k].effects;
  }
}

DataError no_rows(const Table& table, const EncodedRows& rows) {
  return DataError(table.source + ": no row has a target" +
                   (rows.without_weight > 0 ? " and a weight above 0" : ""));
}

}  // namespace

Encoder detail::encoder_after(const Encoder& encoder, const EncodedRows& fresh,
                              std::vector<std::string>& unbounded) {
  Encoder next = encoder;
  for (const UnseenCell& cell : fresh.unseen) {
    FeatureColumn& feature = next.features[cell.feature];
    if (feature.kind == ColumnKind::categorical) feature.others = true;
  }
  for (std::size_t k = 0; k < next.targets.size(); ++k) {
    TargetColumn& target = next.targets[k];
    bool hold = true;
    for (std::size_t n = k; target.bounds.any() && n < fresh.targets.size();
         n += next.targets.size()) {
      hold = hold && target.bounds.contain(target.decoded(fresh.targets[n]));
    }
    if (hold) continue;
    target.bounds = {};
    unbounded.push_back(target.name);
  }
  return next;
}

ChangeReport Regressor::update(const Table& table, const ChangeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (model_.start) require_no_old_rows(options);
  require_old_rows(model_, options);
  EncodedRows fresh = model_.encoder.encode_values(table);
  if (fresh.rows == 0) throw no_rows(table, fresh);
  EncodedRows known = fresh;
  encoder().put_effects(known.inputs);
  ChangeReport report;
  report.rows_added = fresh.rows;
  report.rows_without_target = fresh.without_target;
  report.rows_without_weight = fresh.without_weight;
  report.rows_known = count_known(fresh.hashes, model_);
  report.unlike = fresh.unlike;
  report.new_rows_nll =
      detail::mean_nll(predict_encoded(known), {known.targets, known.weights}, encoder());
  if (model_.start) {
    detail::encoder_after(encoder(), fresh, report.unbounded);
    set_model(learn_at_start(model_, std::move(known), report));
    report.seconds = seconds_since(start);
    return report;
  }
  Encoder next_encoder = detail::encoder_after(encoder(), fresh, report.unbounded);
  if (options.data == nullptr) fresh = std::move(known);
  detail::merge_copies(fresh);
  detail::shuffle(fresh, model_.options.seed);
  Plan plan =
      plan_change(model_, std::vector<std::size_t>(model_.row_hashes.size()), {}, options.data);
  plan.appended = names_of(fresh);
  const Rows added{fresh.rows, std::move(fresh.inputs), std::move(fresh.targets),
                   std::move(fresh.weights)};
  plan.change.append = added;
  plan.remaining.append(added.data());
  const bool all = options.data != nullptr;
  set_model(finish(model_, plan, {all ? plan.remaining : added, all ? "all rows" : "the new rows"},
                   options, report));
  take_effects(model_.encoder, next_encoder);
  model_.encoder = std::move(next_encoder);
  report.seconds = seconds_since(start);
  return report;
}

ChangeReport Regressor::forget_rows(const Table& table, const ChangeOptions& options) {
  EncodedRows given = model_.encoder.encode(table, UseWeights::ignored);
  RowFinder finder(model_);
  std::vector<double> weights;
  std::vector<std::size_t> gone(model_.row_hashes.size());
  for (std::size_t n = 0; n < given.rows; ++n) {
    const auto place = finder.take(given.hashes[n]);
    if (!place) {
      throw DataError(table.source + ", " + table.place(given.table_rows[n]) +
                      ": this row is not among the rows that the model can forget");
    }
    ++gone[*place];
    const KnownRow row = known_row(model_, *place);
    weights.push_back(row.weight / static_cast<double>(row.copies));
  }
  if (given.rows == 0) throw DataError(table.source + ": no row has a target");
  const Rows rows{given.rows, std::move(given.inputs), std::move(given.targets),
                  std::move(weights)};
  ChangeReport report;
  set_model(forget(model_, gone, &rows, options, report));
  report.copies_left = copies_of(given.hashes, model_);
  return report;
}

ChangeReport Regressor::forget_batch(std::size_t batch, const ChangeOptions& options) {
  require(!model_.start,
          "a model that was fitted from a start has no batches: forget its rows by "
          "the rows themselves (--rows)");
  require(batch < model_.batch_rows.size(),
          "there is no batch " + std::to_string(batch) + ": the model has " +
              std::to_string(model_.batch_rows.size()) + ", counted from 0");
  std::size_t first = 0;
  for (std::size_t b = 0; b < batch; ++b) first += model_.batch_rows[b];
  std::vector<std::size_t> gone(model_.row_hashes.size());
  for (std::size_t n = 0; n < model_.batch_rows[batch]; ++n) {
    gone[first + n] = known_row(model_, first + n).copies;
  }
  ChangeReport report;
  set_model(forget(model_, gone, nullptr, options, report));
  return report;
}

}  // namespace dma
