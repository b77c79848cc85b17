// The joint belief: its dense algebra compared with the machine's matrix product, an epoch and a prediction compared
// with their algebra.
#include <dma/special/random.h>

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "backend/dense.h"
#include "belief/joint_network.h"
#include "bench/sections.h"
#include "likelihood/gaussian.h"
#include "regressor/mixture.h"

namespace dma::bench {
namespace {

using backend::Matrix;
using detail::Vector;

constexpr std::size_t rows = 512;

Matrix drawn(std::size_t height, std::size_t width) {
  special::Random random(height + width);
  Matrix matrix(static_cast<Eigen::Index>(height), static_cast<Eigen::Index>(width));
  for (double& value : matrix.reshaped()) value = random.normal();
  return matrix;
}

// ---- The algebra -------------------------------------------------------------------------------------------

struct Operands {
  explicit Operands(std::size_t size)
      : gradients(drawn(rows, size)),
        square(drawn(size, size)),
        precision(gradients.transpose() * gradients),
        product(Matrix::Zero(rows, static_cast<Eigen::Index>(size))) {
    precision.diagonal().array() += 1;
    factor = precision;
    if (!backend::factorise(backend::target(factor))) throw std::runtime_error("not positive");
    inverse = factor;
    backend::invert(backend::target(inverse));
    whitening = std::make_unique<backend::Whitening>(backend::operand(inverse));
    lots = drawn(rows + whitening->lot_rows(), size);
    squares.resize(rows);
  }

  Matrix gradients, square, precision, product, factor, inverse, lots, copy;
  std::unique_ptr<backend::Whitening> whitening;
  std::vector<double> squares;
};

struct Operation {
  const char* name;
  double (*operations)(double size);  // multiplications and additions
  void (*run)(Operands& work);
  void (*prepare)(Operands& work) = nullptr;  // not measured
};

const std::vector<Operation> operations{
    {"product", [](double d) { return 2.0 * rows * d * d; },
     [](Operands& work) {
       backend::add_product(backend::operand(work.gradients), backend::operand(work.square),
                            backend::target(work.product));
     }},
    {"rank update", [](double d) { return rows * d * (d + 1); },
     [](Operands& work) {
       backend::add_square(backend::operand(work.gradients).transposed(),
                           backend::target(work.precision));
     }},
    {"Cholesky", [](double d) { return d * d * d / 3; },
     [](Operands& work) {
       benchmark::DoNotOptimize(backend::factorise(backend::target(work.copy)));
     },
     [](Operands& work) { work.copy = work.precision; }},
    {"inverse", [](double d) { return d * d * d / 3; },
     [](Operands& work) { backend::invert(backend::target(work.copy)); },
     [](Operands& work) { work.copy = work.factor; }},
    {"whitening", [](double d) { return rows * d * (d + 1); },
     [](Operands& work) {
       // The positions of the numbers do not matter here.
       work.whitening->squares(work.lots.data(), rows, work.squares.data());
     }},
};

std::string name_of(const char* what, std::size_t size) {
  return fmt::format("joint/{}/{:04}", what, size);
}

void add_operation(Plan& plan, const Operation& operation, std::size_t size) {
  const double count = operation.operations(static_cast<double>(size));
  plan.measure({.name = name_of(operation.name, size),
                .unit = "ps per operation",
                .scale = 1e12 / count,
                .run = [&operation, size](benchmark::State& state) {
                  Operands work(size);
                  for (auto _ : state) {
                    if (operation.prepare != nullptr) {
                      state.PauseTiming();
                      operation.prepare(work);
                      state.ResumeTiming();
                    }
                    operation.run(work);
                    benchmark::ClobberMemory();
                  }
                }});
}

constexpr std::size_t size_of_product = 800;  // its product's rate is the reference for the others

std::optional<Target> target_at(std::size_t size) {
  return size >= 800 ? std::optional<Target>(at_least(0.6)) : std::nullopt;
}

void add_algebra(Plan& plan) {
  const Operation& rank_update = operations[1];
  const std::vector<std::size_t> sizes =
      plan.quick ? std::vector<std::size_t>{800} : std::vector<std::size_t>{100, 300, 800, 1400};
  for (const std::size_t size : sizes) {
    for (const Operation& operation : operations) {
      add_operation(plan, operation, size);
      if (&operation == &operations.front()) continue;
      plan.quotient(
          fmt::format("joint/{}/{:04}, share of the product's rate", operation.name, size),
          name_of(operations.front().name, size_of_product), name_of(operation.name, size),
          Better::larger, target_at(size));
    }
    plan.measure({.name = name_of("Eigen's rank update", size),
                  .unit = "ps per operation",
                  .scale = 1e12 / rank_update.operations(static_cast<double>(size)),
                  .run = [size](benchmark::State& state) {
                    Operands work(size);
                    for (auto _ : state) {
                      work.precision.selfadjointView<Eigen::Lower>().rankUpdate(
                          work.gradients.transpose());
                      benchmark::ClobberMemory();
                    }
                  }});
    plan.quotient(fmt::format("joint/Eigen's rank update over ours/{:04}", size),
                  name_of("Eigen's rank update", size), name_of(rank_update.name, size),
                  Better::larger);
  }
}

// ---- An epoch, and a row -----------------------------------------------------------------------------------

struct Example {
  Example(std::size_t inputs, std::size_t count) : width(inputs) {
    special::Random random(inputs);
    for (std::size_t n = 0; n < count; ++n) {
      for (std::size_t j = 0; j < inputs; ++j) values.push_back(random.normal());
      const double* x = values.data() + n * inputs;
      targets.push_back(std::sin(2 * x[0]) + x[1] * x[2] / 2 + 0.2 * random.normal());
    }
  }
  Data view() const { return {values, targets, targets.size()}; }

  std::size_t width;
  std::vector<double> values, targets;
};

Architecture network(std::size_t inputs, std::size_t hidden) {
  return {.widths = {inputs, hidden, 1}, .slopes = {0.1}, .bias = {true}};
}

// Epochs that learn no precisions: messages of all rows, a Cholesky factor and the values at the new weights. The
// products among that: N D^2 + D^3 / 3.
void add_epoch(Plan& plan, std::size_t inputs, std::size_t count) {
  constexpr std::size_t epochs = 4;
  const std::size_t weights = network(inputs, 20).weight_count();
  const auto d = static_cast<double>(weights);
  const double products = static_cast<double>(count) * d * (d + 1) + d * d * d / 3;
  const std::string name = fmt::format("joint/epoch of {} rows/{:04}", count, weights);
  plan.measure({.name = name,
                .unit = "ps per operation",
                .scale = 1e12 / products / epochs,
                .run = [=](benchmark::State& state) {
                  const Example example(inputs, count);
                  detail::JointSettings settings;
                  settings.epochs = epochs;
                  settings.evidence_from = 1000;
                  settings.tolerance = 0;
                  for (auto _ : state) {
                    detail::JointNetwork fitted(network(inputs, 20), JointUnit::leaky_relu, 1,
                                                true);
                    fitted.draw_start(1, 1);
                    detail::GaussianTerms terms(example.targets, std::vector<double>(count, 0.04));
                    benchmark::DoNotOptimize(fitted.fit(example.values, terms, settings).epochs);
                  }
                }});
  plan.quotient(name + ", share of the product's rate", name_of("product", size_of_product), name,
                Better::larger, target_at(weights));
}

JointPosterior posterior_of(const Architecture& architecture, JointUnit unit,
                            const Example& example) {
  detail::JointNetwork drawn(architecture, unit, 1, true);
  drawn.draw_start(1, 1);
  const detail::GaussianTerms terms(example.targets,
                                    std::vector<double>(example.targets.size(), 1));
  return drawn.posterior(example.values, terms, false);
}

// A default model of 13 columns: four members, each a function of 301 weights and a noise of 161.
Model default_model(std::size_t inputs) {
  Arrays stored;
  const auto put = [&](const std::string& name, const JointPosterior& posterior) {
    stored.put(name + "mean", posterior.mean);
    stored.put(name + "prior_precision", posterior.prior_precision);
    stored.put(name + "factor", posterior.factor);
  };
  put("function.", posterior_of(network(inputs, 20), JointUnit::leaky_relu, Example(inputs, 506)));
  put("log_noise.",
      posterior_of(network(inputs + 1, 10), JointUnit::step, Example(inputs + 1, 506)));
  stored.put("log_noise.widths", std::vector<std::uint64_t>{inputs + 1, 10, 1});
  stored.put("noise_variance", 1);
  stored.put("noise_inputs.scale", std::vector<double>{0, 1});
  stored.put("noise_inputs.low", std::vector<double>(inputs + 1, -3));
  stored.put("noise_inputs.high", std::vector<double>(inputs + 1, 3));
  const auto member = std::make_shared<JointBelief>(network(inputs, 20), stored, Heard{});
  Model model;
  model.encoder.targets.resize(1);
  model.members.assign(4, {member, 0, 0.25});
  model.calibrations.resize(1);
  return model;
}

void add_prediction(Plan& plan) {
  constexpr std::size_t inputs = 13;
  constexpr std::size_t count = 8192;
  const double d = static_cast<double>(network(inputs, 20).weight_count());
  const double e = static_cast<double>(network(inputs + 1, 10).weight_count());
  const double products = 4 * (d * (d + 1) + e * (e + 1));
  const std::string name = "joint/predict, 13 columns";
  plan.measure({.name = name,
                .unit = "ns per row",
                .scale = 1e9 / count,
                .run = [=](benchmark::State& state) {
                  const Model model = default_model(inputs);
                  const detail::Mixture mixture(model);
                  const Example example(inputs, count);
                  for (auto _ : state) {
                    benchmark::DoNotOptimize(
                        mixture.predict(model, example.values, count, 1)[0].mean);
                  }
                }});
  const auto values = [=](const Results& results) {
    std::vector<double> shares;
    const double least = products * results.median(name_of("product", size_of_product)) / 1e3;
    for (const double time : results.values(name)) shares.push_back(least / time);
    return shares;
  };
  plan.ratio({name + ", share of the product's rate", Better::larger, {}, values});
}

}  // namespace

void add_joint(Plan& plan) {
  add_algebra(plan);
  add_epoch(plan, 38, 1500);
  if (!plan.quick) add_epoch(plan, 13, 506);
  add_prediction(plan);
}

}  // namespace dma::bench
