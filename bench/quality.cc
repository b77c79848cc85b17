// Seconds until the held-out NLL is first within 0.02 of the best that either reaches: ours against Adam's.
//
// Three tasks of known noise, drawn with the seeds 1, 2, ...; a repetition is a seed. After every epoch the held-out
// rows are predicted, which is not counted. Both sides learn the noise: ours from its cavity, Adam's is the constant
// that fits its training residuals best. Adam has the best of four learning rates, chosen on the held-out rows, which
// favours it. If its search counts, the other three cost their time to their own best.
#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "baselines/torch_baselines.h"
#include "bench/adam.h"
#include "bench/clock.h"
#include "bench/sections.h"
#include "experiments/task/task.h"

namespace dma::bench {
namespace {

constexpr double close_enough = 0.02;
constexpr std::array<double, 4> learning_rates{1e-4, 1e-3, 1e-2, 1e-1};
constexpr double never_reached = std::numeric_limits<double>::infinity();

// ---- Tasks -------------------------------------------------------------------------------------------------

struct Rows {
  std::vector<double> inputs, targets;

  std::size_t count() const { return targets.size(); }
};

struct Task {
  Architecture network;
  Rows train, held_out;
};

struct Setting {
  const char* name;
  Task (*draw)(std::uint64_t seed);
  std::size_t our_epochs, adam_epochs;
  int seeds;
  double target;  // times faster than Adam, its search not counted
};

// The paper's task: 83 weights, 200 rows. Noisy rows inside its range are held out.
Task paper_task(std::uint64_t seed) {
  experiments::Task drawn = experiments::regression_task(seed);
  special::Random random(1000 + seed);
  for (double& y : drawn.inside.targets) y += drawn.noise_deviation * random.normal();
  return {drawn.model,
          {drawn.train.features, drawn.train.targets},
          {drawn.inside.features, drawn.inside.targets}};
}

using Function = double (*)(const double* inputs);

// Uniform inputs, standardised.
Rows draw_rows(std::size_t rows, std::size_t inputs, Function function, double noise,
               special::Random& random) {
  Rows result;
  for (std::size_t n = 0; n < rows; ++n) {
    for (std::size_t j = 0; j < inputs; ++j) {
      result.inputs.push_back(random.uniform(-std::numbers::sqrt3, std::numbers::sqrt3));
    }
    const double* row = result.inputs.data() + n * inputs;
    result.targets.push_back(function(row) + noise * random.normal());
  }
  return result;
}

Task drawn_task(std::vector<std::size_t> widths, std::size_t rows, Function function, double noise,
                std::uint64_t seed) {
  special::Random random(seed);
  const std::size_t inputs = widths.front();
  return {{.widths = std::move(widths), .bias = {true}},
          draw_rows(rows, inputs, function, noise, random),
          draw_rows(1000, inputs, function, noise, random)};
}

// Friedman's first function (1991), roughly standardised; eight of the thirteen inputs are irrelevant.
double friedman(const double* inputs) {
  std::array<double, 5> x{};
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = 0.5 + inputs[j] / (2 * std::numbers::sqrt3);
  const double value = 10 * std::sin(std::numbers::pi * x[0] * x[1]) +
                       20 * (x[2] - 0.5) * (x[2] - 0.5) + 10 * x[3] + 5 * x[4];
  return (value - 14.4) / 4.9;
}

// The distance of the end of an arm of eight links from its base, roughly standardised; the inputs are the angles.
double arm(const double* inputs) {
  double x = 0;
  double y = 0;
  double angle = 0;
  for (std::size_t j = 0; j < 8; ++j) {
    angle += inputs[j] / 2;
    x += std::cos(angle);
    y += std::sin(angle);
  }
  return (std::hypot(x, y) - 5) / 1.6;
}

Task table_task(std::uint64_t seed) { return drawn_task({13, 50, 1}, 455, friedman, 0.2, seed); }
Task large_task(std::uint64_t seed) { return drawn_task({8, 100, 100, 1}, 7000, arm, 0.1, seed); }

// ---- Methods -----------------------------------------------------------------------------------------------

// After each epoch: seconds so far, and the held-out NLL.
struct Curve {
  std::vector<double> seconds, nll;

  double best() const { return *std::min_element(nll.begin(), nll.end()); }
  double total() const { return seconds.back(); }
  double seconds_to(double level) const {
    for (std::size_t e = 0; e < nll.size(); ++e) {
      if (nll[e] <= level) return seconds[e];
    }
    return never_reached;
  }
};

double gaussian_nll(double squared_miss, double variance) {
  return (std::log(2 * std::numbers::pi * variance) + squared_miss / variance) / 2;
}

double nll(const Prediction& prediction, const std::vector<double>& targets) {
  double sum = 0;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    const double miss = targets[n] - prediction.mean[n];
    sum +=
        gaussian_nll(miss * miss, prediction.epistemic_variance[n] + prediction.noise_variance[n]);
  }
  return sum / static_cast<double>(targets.size());
}

// Independent weights, the linear rule, single precision.
Curve train_ours(const Task& task, std::size_t epochs, std::uint64_t seed) {
  Curve curve;
  double spent = -processor_seconds();
  // Fits epoch by epoch, so that the belief can be examined; the certificate would be made after each.
  IndependentBelief<float> trainer(
      task.network, draw_prior(task.network, 100 + seed),
      {.max_epochs = 1, .tolerance = 0, .likelihood = gaussian({.variance = {0.1}, .learn = true})},
      {.certificate = false});
  trainer.append({task.train.inputs, task.train.targets, task.train.count()});
  for (std::size_t e = 0; e < epochs; ++e) {
    trainer.fit();
    spent += processor_seconds();
    curve.seconds.push_back(spent);
    curve.nll.push_back(
        nll(predict(trainer.posterior(), task.held_out.inputs, task.held_out.count()),
            task.held_out.targets));
    spent -= processor_seconds();
  }
  return curve;
}

Table table_of(const Rows& rows, std::size_t inputs) {
  Table table{.columns = {{.name = "y", .numbers = rows.targets}}};
  for (std::size_t j = 0; j < inputs; ++j) {
    Column column{.name = "x" + std::to_string(j)};
    for (std::size_t n = 0; n < rows.count(); ++n) {
      column.numbers.push_back(rows.inputs[n * inputs + j]);
    }
    table.columns.push_back(std::move(column));
  }
  return table;
}

// The default of dma fit: joint weights, an ensemble, its own network. One point, at the end.
Curve train_default(const Task& task, std::uint64_t seed) {
  const std::size_t inputs = task.network.inputs();
  Table train = table_of(task.train, inputs);
  const double begin = processor_seconds();
  const auto model = Regressor::fit(std::move(train), {.target = "y", .seed = seed, .threads = 1});
  const double seconds = processor_seconds() - begin;
  return {{seconds}, {model.evaluate(table_of(task.held_out, inputs)).front().nll}};
}

Curve train_adam(const Task& task, double learning_rate, std::size_t epochs, std::uint64_t seed) {
  constexpr double variance = 0.04;  // scales the loss only
  const baselines::Problem problem{task.network, task.train.inputs, task.train.targets,
                                   task.train.count(), variance};
  const auto result = baselines::train_adam(problem, draw_prior(task.network, 100 + seed).mean,
                                            {.learning_rate = learning_rate,
                                             .epochs = epochs,
                                             .batch_size = 20,
                                             .seed = seed,
                                             .single_precision = true,
                                             .held_out = task.held_out.inputs.data(),
                                             .held_out_rows = task.held_out.count()});
  Curve curve;
  double spent = 0;
  for (std::size_t e = 0; e < result.epoch_seconds.size(); ++e) {
    spent += result.epoch_seconds[e];
    curve.seconds.push_back(spent);
    // The mean squared training residual, from the NLL at the known variance.
    const double noise = 2 * variance * (result.train_nll[e] - gaussian_nll(0, variance));
    const double* predicted = result.held_out.data() + e * task.held_out.count();
    double sum = 0;
    for (std::size_t n = 0; n < task.held_out.count(); ++n) {
      const double miss = task.held_out.targets[n] - predicted[n];
      sum += gaussian_nll(miss * miss, noise);
    }
    const double mean = sum / static_cast<double>(task.held_out.count());
    curve.nll.push_back(std::isfinite(mean) ? mean : std::numeric_limits<double>::max());
  }
  return curve;
}

// ---- Comparison --------------------------------------------------------------------------------------------

// Curves by seed.
struct Curves {
  std::vector<Curve> ours, standard;
  std::array<std::vector<Curve>, learning_rates.size()> adam;
};

// All learning rates of one seed.
std::vector<const Curve*> adam_of(const Curves& curves, std::size_t seed) {
  std::vector<const Curve*> all;
  for (const auto& by_seed : curves.adam) {
    if (seed < by_seed.size()) all.push_back(&by_seed[seed]);
  }
  return all;
}

double seconds_to_best(const Curve& curve) { return curve.seconds_to(curve.best()); }

struct Compared {
  double ours, adam, search;  // seconds to the same quality
  double our_nll, adam_nll;   // the best reached
  bool adam_reached;
};

Compared compare(const Curve& ours, const std::vector<const Curve*>& adam) {
  const Curve& best = **std::min_element(
      adam.begin(), adam.end(), [](const auto* a, const auto* b) { return a->best() < b->best(); });
  const double level = std::min(ours.best(), best.best()) + close_enough;
  const double seconds = best.seconds_to(level);
  Compared result{ours.seconds_to(level), seconds, 0, ours.best(), best.best(),
                  std::isfinite(seconds)};
  // If not reached in all its epochs, it takes at least those.
  if (!result.adam_reached) result.adam = best.total();
  result.search = result.adam;
  for (const Curve* other : adam) {
    if (other != &best) result.search += seconds_to_best(*other);
  }
  return result;
}

void add_compared(Results& results, const std::string& name, const Compared& compared) {
  results.add(name + "/seconds", "s", compared.ours);
  results.add(name + "/Adam's seconds", compared.adam_reached ? "s" : "s or more", compared.adam);
  results.add(name + "/Adam's seconds with search", "s", compared.search);
  results.add(name + "/held-out NLL", "", compared.our_nll);
  results.add(name + "/Adam's held-out NLL", "", compared.adam_nll);
  results.add(name + "/Adam reached it", "1: yes", compared.adam_reached ? 1 : 0);
}

void add_ratios(Plan& plan, const std::string& name, double target) {
  plan.quotient(name + "/Adam over ours", name + "/Adam's seconds", name + "/seconds",
                Better::larger, at_least(target));
  plan.quotient(name + "/Adam with search over ours", name + "/Adam's seconds with search",
                name + "/seconds", Better::larger);
}

// Repetition k is seed k + 1, and adds a curve.
template <class Train>
void add_method(Plan& plan, const Setting& setting, const std::string& what,
                const std::shared_ptr<std::vector<Curve>>& curves, const Train& train) {
  plan.once(fmt::format("quality/{}/{}, all epochs", setting.name, what), "s", setting.seeds,
            [=, draw = setting.draw] {
              const std::uint64_t seed = curves->size() + 1;
              curves->push_back(train(draw(seed), seed));
              return curves->back().total();
            });
}

void add_task(Plan& plan, const Setting& setting) {
  const auto curves = std::make_shared<Curves>();
  const auto part = [&](std::vector<Curve>& own) {
    return std::shared_ptr<std::vector<Curve>>(curves, &own);
  };
  add_method(plan, setting, "independent weights", part(curves->ours),
             [epochs = setting.our_epochs](const Task& task, std::uint64_t seed) {
               return train_ours(task, epochs, seed);
             });
  add_method(plan, setting, "dma fit's default", part(curves->standard),
             [](const Task& task, std::uint64_t seed) { return train_default(task, seed); });
  for (std::size_t k = 0; k < learning_rates.size(); ++k) {
    add_method(
        plan, setting, fmt::format("Adam at {:g}", learning_rates[k]), part(curves->adam[k]),
        [epochs = setting.adam_epochs, rate = learning_rates[k]](
            const Task& task, std::uint64_t seed) { return train_adam(task, rate, epochs, seed); });
  }
  const std::string name = std::string("quality/") + setting.name;
  plan.after([curves, name](Results& results) {
    for (std::size_t k = 0; k < curves->ours.size(); ++k) {
      const auto adam = adam_of(*curves, k);
      add_compared(results, name + "/independent weights", compare(curves->ours[k], adam));
      add_compared(results, name + "/dma fit's default", compare(curves->standard[k], adam));
    }
  });
  add_ratios(plan, name + "/independent weights", setting.target);
  add_ratios(plan, name + "/dma fit's default", setting.target);
}

}  // namespace

void add_quality(Plan& plan) {
  if (!adam_is_comparable(plan)) return;
  add_task(plan, {"8-6-5-1", paper_task, 100, 400, plan.quick ? 1 : 5, 10});
  add_task(plan, {"13-50-1", table_task, 100, 250, plan.quick ? 1 : 5, 10});
  if (!plan.quick) add_task(plan, {"8-100-100-1", large_task, 20, 40, 3, 3});
}

}  // namespace dma::bench
