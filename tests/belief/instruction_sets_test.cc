// A network that was trained with one instruction set against one that was trained with another, and against the
// readable kernel: rounding differs, and how far that carries through a fit is measured here.
#include "kernels/on_instruction_set.h"
// It must come first.
#include <dma/belief/independent.h>
#include <dma/belief/posterior.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include <dma/special/random.h>

#include <dma/special/larger.h>

namespace dma {
namespace {

constexpr std::size_t rows = 120;

struct Rows {
  std::vector<double> inputs, targets;

  Data data() const { return {inputs, targets, targets.size()}; }
};

Rows wave() {
  special::Random random(1);
  Rows result;
  for (std::size_t n = 0; n < rows; ++n) {
    const double a = random.normal();
    const double b = random.normal();
    result.inputs.insert(result.inputs.end(), {a, b});
    result.targets.push_back(std::sin(2 * a) + b / 2 + 0.2 * random.normal());
  }
  return result;
}

// Trains as a regressor does: from the cavity first, then from the belief, the noise learnt.
template <class T>
Prediction trained(Rule rule, std::size_t epochs, bool readable) {
  const Rows data = wave();
  const Architecture network{.widths = {2, 20, 1}, .slopes = {0.1}, .bias = {true}};
  TrainingOptions options{.batch_size = 1, .max_epochs = epochs, .tolerance = 0};
  options.likelihood = gaussian({.learn = true});
  const IndependentOptions own{.rule = rule, .belief_from_epoch = 21, .readable_kernel = readable};
  IndependentBelief<T> trainer(network, draw_prior(network, 1, 6), options, own);
  trainer.append(data.data());
  trainer.fit();
  return predict(trainer.posterior(), data.inputs, rows);
}

// The largest difference, in standard deviations.
double distance(const Prediction& one, const Prediction& other) {
  double worst = 0;
  for (std::size_t n = 0; n < rows; ++n) {
    const double variance = one.epistemic_variance[n] + one.noise_variance[n];
    const double deviation = std::sqrt(variance);
    const double other_deviation = std::sqrt(other.epistemic_variance[n] + other.noise_variance[n]);
    worst = special::larger(worst, std::abs(one.mean[n] - other.mean[n]) / deviation);
    worst = special::larger(worst, std::abs(other_deviation / deviation - 1));
  }
  return worst;
}

template <class Check>
void on_every_target(const Check& check) {
  for (const auto target : kernels::instruction_sets()) {
    const kernels::OnInstructionSet chosen(target);
    check(hwy::TargetName(target));
  }
}

template <class T>
void expect_close(const char* name, std::size_t epochs, double tolerance) {
  for (const Rule rule : {Rule::linear, Rule::direct}) {
    const Prediction reference = trained<T>(rule, epochs, true);
    on_every_target([&](const char* target) {
      const double worst = distance(reference, trained<T>(rule, epochs, false));
      std::printf("  %s, %s, %s, %zu epochs: %.1e deviations\n", target, name,
                  std::string(name_of(rule)).c_str(), epochs, worst);
      EXPECT_LT(worst, tolerance);
    });
  }
}

TEST(InstructionSets, AgreeAfterAnEpoch) {
  expect_close<double>("double", 1, 1e-12);
  expect_close<float>("float", 1, 1e-4);
}

TEST(InstructionSets, AgreeAfterAFit) {
  expect_close<double>("double", 40, 1e-9);
  expect_close<float>("float", 40, 1e-2);
}

}  // namespace
}  // namespace dma
