#include "regressor/shapes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <dma/base/parallel.h>

#include "belief/calibration.h"
#include "belief/joint_backend.h"
#include "belief/joint_shape.h"
#include "regressor/checkpoint.h"
#include "regressor/members.h"
#include "regressor/mixture.h"
#include "regressor/stacking.h"

namespace dma::detail {
namespace {

using Clock = std::chrono::steady_clock;

// Three of four members of a shape can switch a column off; the fourth cannot, which widens intervals away from the data.
bool selects(const RegressorOptions& options, std::size_t member) {
  return options.selection && member % 4 != 3;
}

// Found on training rows held out from training (docs/default-method.md).
constexpr std::size_t least_parts = 3;        // of the rows; a member holds one of them out
constexpr std::size_t most_held_rows = 1500;  // by a member
constexpr std::size_t first_search_rows = 1500;
constexpr std::size_t most_rows_at_once = 2250;  // to search with all rows from the start
constexpr std::size_t growth_of_search = 4;
constexpr double least_weight = 0.05;  // a shape that counts less is dropped
// Before there are more rows, which may tell otherwise.
constexpr double least_weight_of_few_rows = 0.01;
constexpr std::size_t first_search_epochs = 100;
// With more rows, as many as this many multiplications allow, within bounds.
constexpr double later_search_operations = 7e11;
constexpr std::size_t least_later_epochs = 8;
constexpr std::size_t most_later_epochs = 100;
// With many rows fewer epochs refine: there is less that the rows that were held out change.
constexpr std::size_t most_refining_epochs = 12;
constexpr std::size_t least_refining_epochs = 6;
// Networks that tell classes apart are soon too sure of rows that they learn on and on.
constexpr std::size_t refining_epochs_of_classes = 4;
constexpr std::size_t refining_epochs_times_rows = 36'000;
// Of the function, standardised: before a row says anything, its value is N(0, 5^2). A network that is far from all rows
// may have no idea; the targets have.
constexpr double prior_precision = 1.0 / 25;
// If there is a limit of time: what a search may take of it, and how many epochs a look and the end of a fit are like.
constexpr double search_share_of_time = 0.5;
constexpr double rehearse_share_of_time = 0.65;
constexpr double refine_share_of_time = 0.85;
constexpr double epochs_to_a_look = 4;
constexpr double epochs_of_the_end = 2;
// For the progress what ends a fit is like so many epochs: the posteriors, and predictions of all rows. (20,640 rows: 37 s
// after epochs of 10 s.)
constexpr double epochs_of_the_end_at_most = 4;

// ------------------------------------------------------------------------------------------------- the plan

struct EpochPlan {
  std::size_t first_search;
  std::size_t most_later;  // each time that there are more rows
  std::size_t refine;      // and as many to rehearse
};

std::size_t usual_refining_epochs(const Likelihood& likelihood, std::size_t rows) {
  if (!likelihood.has_scale()) return refining_epochs_of_classes;
  return std::clamp(refining_epochs_times_rows / rows, least_refining_epochs, most_refining_epochs);
}

// Of a given number of epochs, a sixth rehearses if there is noise to learn, and a sixth refines.
EpochPlan plan_epochs(std::size_t most, std::size_t stages, const Likelihood& likelihood,
                      std::size_t rows) {
  const std::size_t usual = usual_refining_epochs(likelihood, rows);
  if (most == 0) return {first_search_epochs, most_later_epochs, usual};
  const std::size_t refine = std::min(usual, most / 6);
  const std::size_t search = most - (likelihood.has_scale() ? 2 : 1) * refine;
  const std::size_t later = std::min(most_later_epochs, search / (2 * stages));
  return {search - later * (stages - 1), later, refine};
}

// How many rows to search with: few first, all that are not held out at the end.
std::vector<std::size_t> search_rows(std::size_t learnt) {
  std::vector<std::size_t> stages;
  if (learnt > most_rows_at_once) stages.push_back(first_search_rows);
  for (std::size_t rows = growth_of_search * first_search_rows; 2 * rows < learnt;
       rows *= growth_of_search) {
    stages.push_back(rows);
  }
  stages.push_back(learnt);
  return stages;
}

// Rows [first, end) are held out by a member.
struct Range {
  std::size_t first, end;
};

// From the last row on, so that the first ones, from which all learn first, are held out last.
Range held_rows(std::size_t member, std::size_t members, std::size_t rows) {
  if (member >= rows || rows == 1) return {rows, rows};
  const std::size_t parts = std::min(std::max(least_parts, members), rows);
  const std::size_t held = std::min(rows, parts * most_held_rows);
  return {rows - (member + 1) * held / parts, rows - member * held / parts};
}

// At most so many rows to learn from. Rows come in random order.
ShapePart part_of(const Data& rows, const Range& held, std::size_t most) {
  ShapePart part;
  const std::size_t before = std::min(held.first, most);
  part.learnt.append(rows.part(0, before));
  part.learnt.append(rows.part(held.end, std::min(rows.rows - held.end, most - before)));
  part.held.append(rows.part(held.first, held.end - held.first));
  return part;
}

// ---------------------------------------------------------------------------------------------- predictions

// What is said of a count knows its prior.
PredictedPart held_out_part(const Prediction& prediction, Family family, std::size_t n,
                            double weight) {
  PredictedPart part = part_at(prediction, n, weight);
  if (family == Family::number) calibrate({.prior_precision = prior_precision}, part);
  return part;
}

bool is_of_classes(const Prediction& prediction) { return !prediction.entropy.empty(); }

// By likelihoods of this family.
std::vector<double> log_densities(const Prediction& prediction, Family family,
                                  std::span<const double> targets) {
  std::vector<double> result;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    if (is_of_classes(prediction)) {
      const std::size_t classes = prediction.mean.size() / targets.size();
      result.push_back(
          std::log(prediction.mean[n * classes + static_cast<std::size_t>(targets[n])]));
      continue;
    }
    Predicted predicted{0, 0, 0, 0, {held_out_part(prediction, family, n, 1)}};
    predicted.family = family;
    result.push_back(predicted.log_density(targets[n]));
  }
  return result;
}

// NaN if there are none.
double mean_of(const Targets& values) {
  if (values.rows() == 0) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (std::size_t n = 0; n < values.rows(); ++n) sum += values.weight(n) * values.values[n];
  return sum / values.weight();
}

// Multiplications of an epoch; a row sends a message per output.
double epoch_cost_of(const Architecture& shape, std::size_t rows) {
  return epoch_cost(shape, rows * shape.outputs()).least();
}

// --------------------------------------------------------------------------------------------------- the fit

enum class Phase : std::uint8_t { search, rehearse, refine };

class Fit {
 public:
  Fit(const ShapesTask& task, const Data& rows, const OnProgress& progress,
      CheckpointFile* checkpoint)
      : task_(task),
        rows_(rows),
        progress_(progress),
        checkpoint_(checkpoint),
        members_(task.options.ensemble),
        stages_(search_rows(rows.rows - (held(0).end - held(0).first))),
        epochs_(plan_epochs(task.options.epochs, stages_.size(), *task.likelihood, rows.rows)) {
    std::mt19937_64 engine(task.options.seed);
    for (const Architecture& shape : task.shapes) {
      ShapeOptions own;
      for (std::size_t m = 0; m < members_; ++m) {
        own.seeds.push_back(engine());
        own.by_column.push_back(selects(task.options, m));
      }
      own.constant_noise = task.options.constant_noise;
      own.first_epochs = epochs_.first_search;
      own.later_epochs = later_epochs(shape);
      own.tolerance = task.options.tolerance;
      own.patience = task.options.patience;
      shapes_.emplace_back(shape, *task.likelihood, std::move(own));
      noise_seeds_.push_back(engine());
    }
    alive_.assign(shapes_.size(), true);
  }

  FittedShapes run() {
    if (checkpoint_ != nullptr && checkpoint_->knows(slot())) resume();
    search();
    learn_noise();
    if (phase_ != Phase::refine && rehearse()) learn_noise();
    refine();
    return finish();
  }

 private:
  Range held(std::size_t member) const { return held_rows(member, members_, rows_.rows); }
  // Of every member, with at most so many rows to learn from.
  std::vector<ShapePart> parts_of(std::size_t most) const {
    std::vector<ShapePart> parts;
    for (std::size_t m = 0; m < members_; ++m) parts.push_back(part_of(rows_, held(m), most));
    return parts;
  }
  double cost(std::size_t shape, std::size_t rows) const {
    return epoch_cost_of(shapes_[shape].architecture(), rows);
  }

  std::size_t later_epochs(const Architecture& shape) const {
    const double affordable = later_search_operations / epoch_cost_of(shape, rows_.rows);
    const std::size_t least = std::min(least_later_epochs, epochs_.most_later);
    return affordable < static_cast<double>(epochs_.most_later)
               ? std::max(least, static_cast<std::size_t>(affordable))
               : epochs_.most_later;
  }

  // A shape's member.
  struct Job {
    std::size_t shape, member;
  };
  template <class Run>
  void run_jobs(std::vector<Job> jobs, std::size_t rows, const Run& run) {
    // The longest first, so that all end together; if there is a limit, what is sure to end first.
    std::stable_sort(jobs.begin(), jobs.end(), [&](const Job& a, const Job& b) {
      const double left = cost(a.shape, rows);
      const double right = cost(b.shape, rows);
      return task_.options.seconds > 0 ? left < right : left > right;
    });
    done_before_ = done_;
    with_advice(task_.options, [&] {
      parallel_for(jobs.size(), task_.options.threads, [&](std::size_t n) { run(jobs[n]); });
    });
  }
  template <class Wanted>
  std::vector<Job> jobs_of(const Wanted& wanted) const {
    std::vector<Job> jobs;
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      for (std::size_t m = 0; wanted(k) && m < members_; ++m) jobs.push_back({k, m});
    }
    return jobs;
  }

  // Before an epoch of this cost: whether it is to be done.
  bool go_on(const Job& job, double cost, double share_of_time) {
    const std::lock_guard lock(mutex_);
    if (is_late(share_of_time)) run_out_of_time();
    if (interrupted_ || out_of_time_) return false;
    done_ += cost;
    if (!progress_) return true;
    const double share = done_ / (done_before_ + left_);
    const std::size_t number = job.shape * members_ + job.member;
    const auto target = static_cast<double>(task_.target);
    interrupted_ =
        !progress_({number, shapes_.size() * members_, ++epochs_done_[number], most_epochs(), 1, 1,
                    (target + share) / static_cast<double>(task_.targets)});
    return !interrupted_;
  }
  // Of the target's part of the time.
  bool is_late(double share_of_time) const {
    return task_.options.seconds > 0 && elapsed() > time_until(share_of_time);
  }
  double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - task_.started).count();
  }
  double time_until(double share) const {
    return (static_cast<double>(task_.target) + share) / static_cast<double>(task_.targets) *
           task_.options.seconds;
  }
  // By what the multiplications until now took.
  bool has_time_for(double multiplications) const {
    if (task_.options.seconds == 0 || done_ == 0) return true;
    const double begun = time_until(0);
    return elapsed() + multiplications * (elapsed() - begun) / done_ < time_until(1);
  }
  // So many epochs over so many rows, of all members of the shapes that are left.
  double cost_of_all(double epochs, std::size_t rows) const {
    double sum = 0;
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      if (alive_[k]) sum += epochs * static_cast<double>(members_) * cost(k, rows);
    }
    return sum;
  }
  bool is_over() const { return interrupted_ || out_of_time_; }
  void run_out_of_time() { out_of_time_ = limited_ = true; }
  std::size_t most_epochs() const {
    return epochs_.first_search + (stages_.size() - 1) * epochs_.most_later + 2 * epochs_.refine;
  }

  // What may be left to do, with a shape's members after so many epochs of this stage.
  void count_what_is_left() {
    left_ = cost_of_all(epochs_of_the_end_at_most, rows_.rows);
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      if (!alive_[k]) continue;
      double own = static_cast<double>(epochs_.refine - refined_) * cost(k, rows_.rows);
      if (phase_ != Phase::refine && can_rehearse()) {
        own += static_cast<double>(epochs_.refine) * cost(k, stages_.back());
      }
      for (std::size_t s = stage_; s < stages_.size(); ++s) {
        const std::size_t most =
            s == 0 ? epochs_.first_search : later_epochs(shapes_[k].architecture());
        const std::size_t behind = s == stage_ ? shapes_[k].epochs_of_stage() : 0;
        if (s > stage_ || shapes_[k].searches()) {
          own += static_cast<double>(most - std::min(most, behind)) * cost(k, stages_[s]);
        }
      }
      left_ += own * static_cast<double>(members_);
    }
  }

  void search() {
    for (; stage_ < stages_.size() && !is_over(); ++stage_) {
      if (stage_ > 0 && !resumed_) {
        drop_lighter_than(least_weight_of_few_rows);
        const double least = cost_of_all(epochs_to_a_look, stages_[stage_]);
        if (!has_time_for(least + cost_of_all(epochs_of_the_end, rows_.rows))) {
          run_out_of_time();
          break;
        }
      }
      const std::vector<ShapePart> parts = parts_of(stages_[stage_]);
      for (std::size_t k = 0; k < shapes_.size(); ++k) {
        if (!alive_[k]) continue;
        if (resumed_) {
          shapes_[k].attach(parts);
        } else {
          shapes_[k].search_with(parts);
        }
      }
      if (!std::exchange(resumed_, false)) keep();
      search_with(parts);
    }
    stage_ = stages_.size();
  }

  void search_with(const std::vector<ShapePart>& parts) {
    const std::size_t rows = parts.front().learnt.rows;
    const auto searches = [&](std::size_t k) { return alive_[k] && shapes_[k].searches(); };
    for (;;) {
      const std::vector<Job> jobs = jobs_of(searches);
      if (jobs.empty() || is_over()) return;
      count_what_is_left();
      std::vector<std::size_t> done(shapes_.size());  // members
      run_jobs(jobs, rows, [&](const Job& job) {
        const double own = cost(job.shape, rows);
        const bool needed = is_needed(job.shape);
        if (!needed && must_stop()) return;
        const double until = needed ? HUGE_VAL : search_share_of_time;
        shapes_[job.shape].search(
            job.member, [&] { return go_on(job, own, until); }, keeper(job));
        const std::lock_guard lock(mutex_);
        ++done[job.shape];
      });
      for (std::size_t k = 0; k < shapes_.size(); ++k) {
        if (!searches(k)) continue;
        if (done[k] == members_) {
          shapes_[k].look();
        } else if (!shapes_[k].has_looked()) {
          alive_[k] = false;
        }
      }
      drop_what_cannot_help();
      keep();
    }
  }
  // The first shape, the smallest, is there in any case.
  bool is_needed(std::size_t shape) const { return shape == 0 && !shapes_[shape].has_looked(); }
  bool must_stop() {
    const std::lock_guard lock(mutex_);
    return is_over();
  }

  // Shapes that would count for nothing as they are, and could not become the best.
  void drop_what_cannot_help() {
    double best = HUGE_VAL;
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      if (alive_[k] && shapes_[k].has_looked()) best = std::min(best, shapes_[k].score());
    }
    std::vector<std::size_t> behind;
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      if (!alive_[k] || !shapes_[k].searches()) continue;
      if (const auto reach = shapes_[k].could_reach(); reach && *reach > best) behind.push_back(k);
    }
    if (behind.empty()) return;
    const std::vector<double> weights = stack();
    for (const std::size_t k : behind) {
      if (weights[k] < least_weight_of_few_rows) alive_[k] = false;
    }
  }
  void drop_lighter_than(double least) {
    const std::vector<double> weights = stack();
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      if (alive_[k] && weights[k] < least) alive_[k] = false;
    }
  }

  // By the rows that were held out; 0 for shapes that were dropped.
  std::vector<double> stack() {
    std::vector<std::vector<double>> of_alive;
    std::vector<double> row_weights;
    nll_.resize(shapes_.size());
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      if (!alive_[k]) continue;
      of_alive.push_back(log_densities(shapes_[k].held_out_prediction(), task_.likelihood->family(),
                                       shapes_[k].held_out().targets));
      row_weights = shapes_[k].held_out().weights;  // the same for all shapes
      nll_[k] = -mean_of({of_alive.back(), row_weights});
    }
    const std::vector<double> weights = stacking_weights(of_alive, row_weights);
    std::vector<double> all(shapes_.size());
    for (std::size_t k = 0, next = 0; k < all.size(); ++k) {
      if (alive_[k]) all[k] = weights[next++];
    }
    return all;
  }

  void learn_noise() {
    std::vector<std::size_t> left;
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      if (alive_[k]) left.push_back(k);
    }
    parallel_for(left.size(), task_.options.threads, [&](std::size_t n) {
      shapes_[left[n]].learn_noise(noise_seeds_[left[n]], rows_);
    });
    drop_lighter_than(least_weight);
    for (std::size_t k = shapes_.size(); k-- > 1;) {
      const bool others = std::count(alive_.begin(), alive_.end(), true) > 1;
      if (alive_[k] && others && !has_time_for(cost_of_all(epochs_of_the_end, rows_.rows))) {
        alive_[k] = false;
      }
    }
    weights_ = stack();
  }

  bool learns_noise() const { return task_.likelihood->has_scale() && task_.likelihood->learns(); }
  // If there is noise to learn and a row to learn it from.
  bool can_rehearse() const {
    return epochs_.refine > 0 && learns_noise() && held(0).first < held(0).end;
  }

  // Whether there was time for it.
  bool rehearse() {
    out_of_time_ = false;
    if (!can_rehearse() || is_over()) return false;
    if (!has_time_for(cost_of_all(epochs_of_the_end + 2, rows_.rows))) {
      run_out_of_time();
      return false;
    }
    const std::vector<ShapePart> parts = parts_of(rows_.rows);
    for (ShapeFit& shape : shapes_) shape.attach(parts);
    begin(Phase::rehearse);
    count_what_is_left();
    const auto alive = [&](std::size_t k) { return alive_[k]; };
    run_jobs(jobs_of(alive), stages_.back(), [&](const Job& job) {
      const double own = cost(job.shape, stages_.back());
      shapes_[job.shape].rehearse(
          job.member, epochs_.refine, [&] { return go_on(job, own, rehearse_share_of_time); },
          keeper(job));
    });
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      if (alive_[k]) shapes_[k].end_rehearsal();
    }
    return true;
  }

  // Does nothing if that is where the fit was resumed.
  void begin(Phase phase) {
    if (std::exchange(phase_, phase) == phase) return;
    for (ShapeFit& shape : shapes_) shape.begin_refining();
    keep();
  }

  void refine() {
    begin(Phase::refine);
    out_of_time_ = false;
    const bool wanted = refined_ < epochs_.refine && !is_over();
    if (!wanted) return;
    if (!has_time_for(cost_of_all(epochs_of_the_end + 1, rows_.rows))) return run_out_of_time();
    count_what_is_left();
    run_jobs(jobs_of([&](std::size_t k) { return alive_[k]; }), rows_.rows, [&](const Job& job) {
      const double own = cost(job.shape, rows_.rows);
      shapes_[job.shape].refine(
          job.member, rows_, epochs_.refine, [&] { return go_on(job, own, refine_share_of_time); },
          keeper(job));
    });
    refined_ = epochs_.refine;
    keep();
  }

  FittedShapes finish() {
    FittedShapes fitted;
    std::vector<std::size_t> order(shapes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return weights_[a] > weights_[b]; });
    std::vector<Job> jobs;
    for (const std::size_t k : order) {
      const Architecture& architecture = shapes_[k].architecture();
      fitted.shapes.push_back({task_.target,
                               {architecture.widths.begin() + 1, architecture.widths.end() - 1},
                               architecture.ramps.size(),
                               architecture.weight_count(),
                               weights_[k],
                               shapes_[k].epochs(),
                               nll_[k]});
      for (std::size_t m = 0; alive_[k] && m < members_; ++m) jobs.push_back({k, m});
    }
    fitted.members.resize(jobs.size());
    fitted.results.resize(jobs.size());
    parallel_for(jobs.size(), task_.options.threads, [&](std::size_t n) {
      finish(jobs[n], n == 0, fitted.members[n], fitted.results[n]);
    });
    hold_out(fitted);
    return fitted;
  }

  void finish(const Job& job, bool certify, Member& member, FitResult& result) {
    const ShapeFit& shape = shapes_[job.shape];
    const bool keep_ledger = task_.options.ledger == LedgerMode::full;
    double step_left = 0;
    JointKnowledge known =
        shape.finish(job.member, rows_, keep_ledger, certify ? &step_left : nullptr);
    result.epochs = shape.epochs();
    result.stopped = stopped(shape);
    result.train_nll = shape.train_nll(job.member);
    result.ledger_bytes = known.function.ledger.bytes();
    if (certify) {
      result.certificate = shape.certify(job.member, rows_, known, step_left);
    } else {
      result.certificate.bounded = shape.bounded(job.member, rows_);
    }
    member = {joint_member(std::move(known), task_.training, {task_.batch_rows, true}),
              task_.target, weights_[job.shape] / static_cast<double>(members_)};
  }

  Stopped stopped(const ShapeFit& shape) const {
    if (interrupted_) return Stopped::interrupted;
    if (limited_) return Stopped::time;
    return shape.has_settled() ? Stopped::tolerance : Stopped::max_epochs;
  }

  // The mixture's predictions of the rows that were held out, calibrated by them.
  void hold_out(FittedShapes& fitted) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    fitted.held_out.assign(rows_.rows, {unknown, unknown, unknown, unknown});
    std::vector<Prediction> predictions(shapes_.size());
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      if (alive_[k]) predictions[k] = shapes_[k].held_out_prediction();
    }
    std::size_t next = 0;
    for (std::size_t m = 0; m < members_; ++m) {
      const Range range = held(m);
      for (std::size_t n = range.first; n < range.end; ++n, ++next) {
        Predicted& mixed = fitted.held_out[n];
        mixed.mean = 0;  // known
        for (std::size_t k = 0; k < shapes_.size(); ++k) {
          if (!alive_[k]) continue;
          if (is_of_classes(predictions[k])) {
            add_classes(predictions[k], next, weights_[k], mixed);
          } else {
            mixed.parts.push_back(
                held_out_part(predictions[k], task_.likelihood->family(), next, weights_[k]));
          }
        }
      }
    }
    const bool has_scale = task_.likelihood->has_scale();
    if (has_scale && task_.options.calibration && !task_.options.noise) {
      fitted.calibration = fit_calibration(fitted.held_out, rows_.weighted_targets());
    }
    fitted.calibration.of_one = has_scale && !task_.options.noise;
    for (Predicted& mixed : fitted.held_out) {
      if (mixed.parts.empty()) continue;
      for (PredictedPart& part : mixed.parts) calibrate(fitted.calibration, part);
      mixed = mixture_of(std::move(mixed.parts), task_.likelihood->family());
    }
    // held_out_part() has multiplied it in.
    if (has_scale) fitted.calibration.prior_precision = prior_precision;
  }

  // ------------------------------------------------------------------------------------------ the checkpoint

  // Of the target's state between two rounds; those of its members while they are on their way follow.
  std::size_t slot() const { return task_.target * places_of_target(shapes_.size(), members_); }
  std::size_t slot(const Job& job) const { return slot() + 1 + job.shape * members_ + job.member; }

  // After a round that was not interrupted.
  void keep() {
    if (checkpoint_ == nullptr || is_over()) return;
    ++round_;
    Arrays all;
    std::vector<std::uint64_t> counts{round_, stage_, static_cast<std::uint64_t>(phase_), refined_};
    for (const bool alive : alive_) counts.push_back(alive ? 1 : 0);
    all.put("counts", counts);
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      all.put("shape." + std::to_string(k) + ".", shapes_[k].store());
    }
    const bool last = refined_ == epochs_.refine && refined_ > 0;
    checkpoint_->keep(slot(), std::move(all), last || checkpoint_->is_due());
  }
  ShapeFit::AfterEpoch keeper(const Job& job) {
    if (checkpoint_ == nullptr) return {};
    return [this, job] {
      if (!checkpoint_->is_due()) return;
      Arrays own = shapes_[job.shape].store_member(job.member);
      own.put("round", std::vector<std::uint64_t>{round_});
      checkpoint_->keep(slot(job), std::move(own), true);
    };
  }

  void resume() {
    Arrays all = checkpoint_->read(slot());
    try {
      const auto counts = all.take<std::uint64_t>("counts", {4 + shapes_.size()});
      round_ = counts[0];
      stage_ = std::min<std::size_t>(counts[1], stages_.size());
      phase_ = static_cast<Phase>(std::min<std::uint64_t>(counts[2], 2));
      refined_ = std::min<std::size_t>(counts[3], epochs_.refine);
      for (std::size_t k = 0; k < shapes_.size(); ++k) {
        alive_[k] = counts[4 + k] == 1;
        shapes_[k].restore(all.take_part("shape." + std::to_string(k) + "."));
      }
      for (const Job& job : jobs_of([&](std::size_t k) { return alive_[k]; })) resume(job);
    } catch (const NetworkError& error) {
      checkpoint_->fail(error.what());
    }
    resumed_ = true;
  }
  // A member's state may be from an earlier round.
  void resume(const Job& job) {
    if (!checkpoint_->knows(slot(job))) return;
    Arrays own = checkpoint_->read(slot(job));
    if (own.take<std::uint64_t>("round", {1}).front() != round_) return;
    shapes_[job.shape].restore_member(job.member, std::move(own));
  }

  const ShapesTask& task_;
  const Data rows_;
  const OnProgress& progress_;
  CheckpointFile* checkpoint_;
  std::size_t members_;              // of a shape
  std::vector<std::size_t> stages_;  // rows to search with
  EpochPlan epochs_;
  std::vector<ShapeFit> shapes_;
  std::vector<bool> alive_;
  std::vector<std::uint64_t> noise_seeds_;
  std::vector<double> weights_, nll_;
  std::size_t round_ = 0, stage_ = 0, refined_ = 0;
  bool resumed_ = false;
  Phase phase_ = Phase::search;

  std::mutex mutex_;
  std::map<std::size_t, std::size_t> epochs_done_;  // by member, for the progress
  double done_ = 0, done_before_ = 0, left_ = 0;    // multiplications
  bool interrupted_ = false;
  bool out_of_time_ = false;  // of this part of the fit
  bool limited_ = false;      // of any
};

}  // namespace

std::size_t places_of_target(std::size_t shapes, std::size_t members) {
  return 1 + shapes * members;
}

namespace {

// Of an epoch over all rows: seconds.
constexpr double most_operations = 1.5e11;
constexpr double most_operations_with_ramps = 2e10;

Architecture with_hidden(const Architecture& like, const std::vector<std::size_t>& hidden,
                         double share) {
  Architecture shape = like;
  shape.widths = {like.inputs()};
  for (const std::size_t units : hidden) {
    shape.widths.push_back(static_cast<std::size_t>(share * static_cast<double>(units)));
  }
  shape.widths.push_back(like.outputs());
  return shape;
}

// With as many units as can be afforded; none if that is not one a layer.
std::optional<Architecture> affordable(const Architecture& like,
                                       const std::vector<std::size_t>& hidden, std::size_t rows) {
  constexpr double step = 0.95;
  const double most = like.ramps.empty() ? most_operations : most_operations_with_ramps;
  std::size_t least_units = 1;
  if (!hidden.empty()) least_units = *std::min_element(hidden.begin(), hidden.end());
  const auto least = static_cast<double>(least_units);
  for (double share = 1; share * least >= 1; share *= step) {
    Architecture shape = with_hidden(like, hidden, share);
    if (epoch_cost_of(shape, rows) <= most) return shape;
  }
  return {};
}

}  // namespace

std::vector<Architecture> default_shapes(const Architecture& like, bool classes, std::size_t rows) {
  struct Sketch {
    std::vector<std::size_t> hidden;
    bool ramps;
  };
  std::vector<Sketch> all;
  if (classes) {
    all = {{{}, false}, {{}, true}, {{5}, true}, {{20, 20}, false}};
  } else {
    all = {{{5}, false}, {{20}, false}, {{20}, true}, {{20, 20}, false}, {{30, 30, 30}, false}};
  }
  std::vector<Architecture> shapes;
  for (const auto& [hidden, ramps] : all) {
    Architecture own = like;
    if (!ramps) own.ramps.clear();
    auto shape = affordable(own, hidden, rows);
    if (!shape || (!shapes.empty() && shapes.back().has_shape_of(*shape))) continue;
    shapes.push_back(*std::move(shape));
  }
  return shapes;
}

// Found as the shapes were. More networks average better and see more of the rows while they search; what they cost grows
// faster than their number.
std::size_t default_members(std::size_t rows) {
  if (rows <= 200) return 6;
  if (rows <= 300) return 5;
  return rows <= 1700 ? 4 : 3;
}

FittedShapes fit_shapes(const ShapesTask& task, const Data& rows, const OnProgress& progress,
                        CheckpointFile* checkpoint) {
  return Fit(task, rows, progress, checkpoint).run();
}

}  // namespace dma::detail
