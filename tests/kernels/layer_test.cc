// The SIMD kernel against the scalar one, which calls the factor library, on every instruction set
// that Highway was built for and this machine has.
#include "kernels/layer.h"

#include <dma/special/random.h>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <array>
#include <cmath>
#include <iostream>
#include <vector>

namespace dma::kernels {
namespace {

template <class T>
struct LayerState {
  std::size_t outputs, inputs, stride;
  bool first;
  std::vector<T> mean, variance, input_mean, input_variance;
  std::vector<T> back_mean, back_variance, z_mean, z_variance, tau, rho, scratch;

  DenseLayer<T> view() { return {outputs, inputs, stride, mean.data(), variance.data()}; }
  LayerInput<T> input() const { return {input_mean.data(), input_variance.data(), first}; }

  bool run(const LayerKernels<T>& kernels, Rule rule) {
    kernels.forward(view(), input(), z_mean.data(), z_variance.data());
    const UnitMessages<T> units{back_mean.data(), back_variance.data(), z_mean.data(),
                                z_variance.data()};
    const InputMessages<T> to_input{first ? nullptr : tau.data(), first ? nullptr : rho.data()};
    const Scratch<T> rows{{scratch.data(), scratch.data() + stride, scratch.data() + 2 * stride}};
    return (rule == Rule::direct ? kernels.backward_direct : kernels.backward_linear)(
        view(), input(), units, to_input, rows);
  }
};

template <class T>
LayerState<T> random_layer(std::uint64_t seed) {
  special::Random random(seed);
  const auto outputs = static_cast<std::size_t>(1 + 20 * random.uniform());
  const auto inputs = static_cast<std::size_t>(1 + 70 * random.uniform());
  const std::size_t stride = padded(inputs);
  LayerState<T> layer{outputs,
                      inputs,
                      stride,
                      random.uniform() < 0.3,
                      std::vector<T>(outputs * stride),
                      std::vector<T>(outputs * stride),
                      std::vector<T>(stride),
                      std::vector<T>(stride),
                      std::vector<T>(outputs),
                      std::vector<T>(outputs),
                      std::vector<T>(outputs),
                      std::vector<T>(outputs),
                      std::vector<T>(stride),
                      std::vector<T>(stride),
                      std::vector<T>(3 * stride)};
  for (std::size_t i = 0; i < outputs; ++i) {
    for (std::size_t j = 0; j < inputs; ++j) {
      layer.mean[i * stride + j] = T(random.normal());
      layer.variance[i * stride + j] = T(std::exp(random.uniform(-4, 1)));
    }
    layer.back_mean[i] = T(3 * random.normal());
    layer.back_variance[i] = random.uniform() < 0.1 ? std::numeric_limits<T>::infinity()
                                                    : T(std::exp(random.uniform(-2, 3)));
  }
  for (std::size_t j = 0; j < inputs; ++j) {
    layer.input_mean[j] = random.uniform() < 0.1 ? T(0) : T(random.normal());
    if (!layer.first) layer.input_variance[j] = T(std::exp(random.uniform(-4, 1)));
  }
  return layer;
}

// The largest difference of two arrays, relative to the larger of the entry and the floor.
template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b, double floor) {
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double scale = std::max(std::abs(double(a[k])), floor);
    const double apart = std::abs(double(a[k]) - double(b[k])) / scale;
    worst = std::max(worst, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
  }
  return worst;
}

template <class T>
double largest_difference(Rule rule) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    auto expected = random_layer<T>(seed);
    auto actual = expected;
    EXPECT_TRUE(expected.run(scalar<T>(), rule));
    EXPECT_TRUE(actual.run(simd<T>(), rule));
    worst = std::max({worst, difference(expected.z_mean, actual.z_mean, 1),
                      difference(expected.z_variance, actual.z_variance, 1e-3),
                      difference(expected.mean, actual.mean, 0.1),
                      difference(expected.variance, actual.variance, 1e-6),
                      difference(expected.tau, actual.tau, 0.1),
                      difference(expected.rho, actual.rho, 1e-3)});
  }
  return worst;
}

// Runs a check on every target that was compiled and that this machine has, then restores the best.
template <class Check>
void on_every_target(const Check& check) {
  const auto targets = hwy::SupportedAndGeneratedTargets();
  EXPECT_FALSE(targets.empty());
  for (const auto target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(LayerKernels, SimdEqualsScalarOnEveryInstructionSet) {
  on_every_target([](const char* target) {
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const double in_double = largest_difference<double>(rule);
      const double in_float = largest_difference<float>(rule);
      std::cout << "  " << target << " " << name_of(rule) << ": double " << in_double << ", float "
                << in_float << "\n";
      EXPECT_LT(in_double, 1e-13);
      EXPECT_LT(in_float, 5e-5);
    }
  });
}

TEST(LayerKernels, SayWhenTheNumbersBreakDown) {
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    auto layer = random_layer<double>(2);
    layer.back_variance.assign(layer.outputs, 1.0);
    layer.variance[0] = std::nan("");
    EXPECT_FALSE(layer.run(simd<double>(), rule));
  }
}

TEST(LayerKernels, UnitsThatHearNothingTeachNothing) {
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    auto layer = random_layer<double>(3);
    layer.back_variance.assign(layer.outputs, std::numeric_limits<double>::infinity());
    const auto before = layer;
    EXPECT_TRUE(layer.run(simd<double>(), rule));
    EXPECT_EQ(layer.mean, before.mean);
    EXPECT_EQ(layer.variance, before.variance);
    EXPECT_EQ(layer.rho, before.rho);
  }
}

}  // namespace
}  // namespace dma::kernels
