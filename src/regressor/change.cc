// Regressor::update and forget: add and remove rows without changing the rest of the ledger.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include "base/require.h"
#include "regressor/fit.h"
#include "regressor/mixture.h"

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

// Finds rows by their hash; a repeated row is found as often as it occurs.
class RowFinder {
 public:
  explicit RowFinder(const std::vector<std::uint64_t>& hashes) {
    for (std::size_t n = hashes.size(); n-- > 0;) places_[hashes[n]].push_back(n);
  }
  std::optional<std::size_t> take(std::uint64_t hash) {
    const auto found = places_.find(hash);
    if (found == places_.end() || found->second.empty()) return std::nullopt;
    const std::size_t place = found->second.back();
    found->second.pop_back();
    return place;
  }

 private:
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> places_;
};

std::size_t known_rows(const Model& model) { return model.row_hashes.size(); }

// A planned change of a model: which rows go, stay and come.
struct Plan {
  Change change;
  std::vector<std::uint64_t> kept_hashes, appended_hashes;
  Rows remaining;  // all rows of the changed model, if the training rows are given
};

// Plans what stays of the model: batches that are not removed, with their rows if the data are given. `gone` marks the
// rows to remove; the other rows of a removed batch are appended.
Plan plan_change(const Model& model, const std::vector<bool>& gone,
                 const std::vector<std::size_t>& remove, const Table* data) {
  Plan plan;
  plan.change.remove = remove;
  std::optional<EncodedRows> known;
  std::optional<RowFinder> finder;
  if (data != nullptr) {
    known = model.encoder.encode(*data);
    finder.emplace(known->hashes);
  }
  std::size_t missing = 0;
  std::size_t row = 0;
  for (std::size_t b = 0; b < model.batch_rows.size(); ++b) {
    const bool removed = std::binary_search(remove.begin(), remove.end(), b);
    Rows batch;
    for (const std::size_t end = row + model.batch_rows[b]; row < end; ++row) {
      const std::uint64_t hash = model.row_hashes[row];
      if (!removed) plan.kept_hashes.push_back(hash);
      if (!known || gone[row]) continue;
      const auto place = finder->take(hash);
      missing += place ? 0 : 1;
      if (!place) continue;
      (removed ? plan.change.append : batch)
          .append(Data{known->inputs, known->targets, known->rows}.part(*place, 1));
      if (removed) plan.appended_hashes.push_back(hash);
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

// A joint belief that has all rows is fitted anew: how long to learn and how large the noise is, only rows that were not
// learnt can say.
Model fit_anew(const Model& model, Plan& plan, const ChangeOptions& options, ChangeReport& report) {
  std::vector<std::uint64_t> hashes = std::move(plan.kept_hashes);
  hashes.insert(hashes.end(), plan.appended_hashes.begin(), plan.appended_hashes.end());
  const std::size_t batches = model.batch_rows.size() - plan.change.remove.size();
  Model next = detail::fit_rows(model.encoder, model.options, plan.remaining, std::move(hashes),
                                options.progress);
  report.batches_removed = plan.change.remove;
  report.batches_added = next.batch_rows.size() - std::min(batches, next.batch_rows.size());
  report.batches_swept = next.batch_rows.size();
  report.epochs = next.report.epochs;
  report.stopped = next.report.stopped;
  next.report.rows_without_target = model.report.rows_without_target;
  return next;
}

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
  next.row_hashes = std::move(plan.kept_hashes);
  next.row_hashes.insert(next.row_hashes.end(), plan.appended_hashes.begin(),
                         plan.appended_hashes.end());
  report.batches_removed = plan.change.remove;
  report.batches_added = batches_of(appended, batch_size);
  report.batches_swept = plan.change.attach.size() + report.batches_added;
  detail::FittedMembers changed = detail::change_members(model, plan.change, options.progress);
  next.members = std::move(changed.members);
  const std::vector<FitResult>& results = changed.results;
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
  next.report.rows = model.report.rows - known_rows(model) + next.row_hashes.size();
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
    return detail::Mixture(of).predict(of, looked_at.rows.inputs, looked_at.rows.rows,
                                       of.options.threads);
  };
  const auto before = predict(model);
  Model next = carry_out(model, plan, options, report);
  const auto after = predict(next);
  report.moved_on = looked_at.name;
  report.moved = distance(after, before);
  if (options.data != nullptr) {
    next.report.train_nll = detail::mean_nll(after, looked_at.rows.targets, next.encoder);
  }
  if (options.compare && fits_anew(model, options)) {
    report.compared = distance(after, after);
  } else if (options.compare) {
    const Model anew =
        detail::fit_rows(model.encoder, model.options, plan.remaining, next.row_hashes, {});
    report.compared = distance(after, predict(anew));
  }
  return next;
}

// The model without these rows.
Model forget(const Model& model, const std::vector<bool>& gone, const Rows* given,
             const ChangeOptions& options, ChangeReport& report) {
  const auto start = std::chrono::steady_clock::now();
  require_old_rows(model, options);
  require(
      model.options.ledger == LedgerMode::full || fits_anew(model, options),
      "only a model with the ledger 'full' can forget: the others do not keep what a batch taught");
  std::vector<std::size_t> remove;
  std::size_t others = 0;
  for (std::size_t b = 0, row = 0; b < model.batch_rows.size(); ++b) {
    const auto first = gone.begin() + static_cast<std::ptrdiff_t>(row);
    const auto end = first + static_cast<std::ptrdiff_t>(model.batch_rows[b]);
    const auto count = static_cast<std::size_t>(std::count(first, end, true));
    row += model.batch_rows[b];
    if (count == 0) continue;
    remove.push_back(b);
    report.rows_removed += count;
    others += model.batch_rows[b] - count;
  }
  (options.data != nullptr ? report.rows_put_back : report.rows_lost) = others;
  Plan plan = plan_change(model, gone, remove, options.data);
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

}  // namespace

ChangeReport Regressor::update(const Table& table, const ChangeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  require_old_rows(model_, options);
  EncodedRows fresh = model_.encoder.encode(table);
  if (fresh.rows == 0) throw DataError(table.source + ": no row has a target");
  detail::shuffle(fresh, model_.options.seed);
  Plan plan = plan_change(model_, std::vector<bool>(model_.row_hashes.size()), {}, options.data);
  const Rows added{fresh.rows, std::move(fresh.inputs), std::move(fresh.targets)};
  plan.change.append = added;
  plan.appended_hashes = std::move(fresh.hashes);
  plan.remaining.append(added.data());

  ChangeReport report;
  report.rows_added = added.rows;
  report.rows_without_target = fresh.without_target;
  report.new_rows_nll =
      detail::mean_nll(predict_encoded(added.inputs, added.rows), added.targets, encoder());
  const bool all = options.data != nullptr;
  set_model(finish(model_, plan, {all ? plan.remaining : added, all ? "all rows" : "the new rows"},
                   options, report));
  report.seconds = seconds_since(start);
  return report;
}

ChangeReport Regressor::forget_rows(const Table& table, const ChangeOptions& options) {
  EncodedRows given = model_.encoder.encode(table);
  RowFinder finder(model_.row_hashes);
  std::vector<bool> gone(model_.row_hashes.size());
  for (std::size_t n = 0; n < given.rows; ++n) {
    const auto place = finder.take(given.hashes[n]);
    if (!place) {
      throw DataError(table.source + ", " + table.place(given.table_rows[n]) +
                      ": this row is not among the rows that the model can forget");
    }
    gone[*place] = true;
  }
  if (given.rows == 0) throw DataError(table.source + ": no row has a target");
  const Rows rows{given.rows, std::move(given.inputs), std::move(given.targets)};
  ChangeReport report;
  set_model(forget(model_, gone, &rows, options, report));
  return report;
}

ChangeReport Regressor::forget_batch(std::size_t batch, const ChangeOptions& options) {
  require(batch < model_.batch_rows.size(),
          "there is no batch " + std::to_string(batch) + ": the model has " +
              std::to_string(model_.batch_rows.size()) + ", counted from 0");
  std::size_t first = 0;
  for (std::size_t b = 0; b < batch; ++b) first += model_.batch_rows[b];
  std::vector<bool> gone(model_.row_hashes.size());
  for (std::size_t n = 0; n < model_.batch_rows[batch]; ++n) gone[first + n] = true;
  ChangeReport report;
  set_model(forget(model_, gone, nullptr, options, report));
  return report;
}

}  // namespace dma
