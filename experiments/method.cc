#include "experiments/method.h"

#include <dma/belief/independent.h>
#include <dma/regressor/regressor.h>
#include <fmt/core.h>

#include <chrono>
#include <memory>

namespace dma::experiments {
namespace {

constexpr std::size_t members = 10;

Mixture<double> fit_paper(Rule rule, std::size_t draws, const Task& task, std::uint64_t seed) {
  const TrainingOptions options{
      .batch_size = task.batch_size,
      .max_epochs = task.max_epochs,
      .tolerance = 0,
      .likelihood = gaussian({.variance = {task.noise_deviation * task.noise_deviation}})};
  std::vector<std::uint64_t> seeds;
  for (std::size_t m = 0; m < draws; ++m) seeds.push_back(prior_seed(seed, m));
  const Data data{task.train.features, task.train.targets, task.train.size()};
  return fit_mixture<double>(task.model, seeds, data, options,
                             {.rule = rule, .relative_tolerance = 0.1});
}

Fit paper_fit(Rule rule, std::size_t draws, const Task& task, std::uint64_t seed) {
  try {
    const auto mixture =
        std::make_shared<const Mixture<double>>(fit_paper(rule, draws, task, seed));
    Fit fit;
    for (const FitResult& result : mixture->results) {
      fit.epochs += static_cast<double>(result.epochs) / static_cast<double>(draws);
      fit.negative += result.certificate.negative_messages.value_or(0);
    }
    fit.train_nll = mixture->results.front().train_nll;
    fit.predict = [mixture](const Rows& rows) {
      return as_predicted(predict(std::span<const Posterior<double>>(mixture->members),
                                  rows.features, rows.size()));
    };
    return fit;
  } catch (const NumericalBreakdown&) {
    return {};
  }
}

Table table_of(const Rows& rows) {
  Table table;
  const auto append = [&](const char* name, const std::vector<double>& values) {
    const std::size_t width = values.size() / rows.size();
    for (std::size_t j = 0; j < width; ++j) {
      table.columns.push_back({.name = fmt::format("{}{}", name, j)});
      for (std::size_t n = 0; n < rows.size(); ++n) {
        table.columns.back().numbers.push_back(values[n * width + j]);
      }
    }
  };
  append("feature", rows.features);
  append("y", rows.targets);
  return table;
}

Fit default_fit(const Task& task, std::uint64_t seed, std::size_t epochs) {
  Names targets;
  for (std::size_t k = 0; k < task.model.outputs(); ++k) targets.push_back(fmt::format("y{}", k));
  const auto model = std::make_shared<const Regressor>(Regressor::fit(
      table_of(task.train), {.target = targets, .epochs = epochs, .seed = seed, .threads = 1}));
  const FitReport& report = model->report();
  return {.predict = [model](const Rows& rows) { return model->predict(table_of(rows), 1); },
          .train_nll = {report.train_nll},
          .epochs = static_cast<double>(report.epochs),
          .negative = report.certificate.negative_messages.value_or(0)};
}

// The method's fit, with its seconds.
Method timed(std::string name, std::function<Fit(const Task&, std::uint64_t)> fit) {
  return {std::move(name), [fit = std::move(fit)](const Task& task, std::uint64_t seed) {
            const auto start = std::chrono::steady_clock::now();
            Fit result = fit(task, seed);
            result.seconds =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            return result;
          }};
}

}  // namespace

Method algorithm(Rule rule) {
  return timed(std::string(name_of(rule)), [rule](const Task& task, std::uint64_t seed) {
    return paper_fit(rule, 1, task, seed);
  });
}

Method mixture() {
  return timed("mixture", [](const Task& task, std::uint64_t seed) {
    return paper_fit(Rule::linear, members, task, seed);
  });
}

Method product_default(std::size_t epochs) {
  return timed("default", [epochs](const Task& task, std::uint64_t seed) {
    return default_fit(task, seed, epochs);
  });
}

std::vector<Method> own_methods() {
  return {algorithm(Rule::direct), algorithm(Rule::linear), mixture(), product_default()};
}

Posterior<double> posterior_of(Rule rule, const Task& task, std::uint64_t seed) {
  return fit_paper(rule, 1, task, seed).members.front();
}

}  // namespace dma::experiments
