// The SIMD kernel against the scalar one, which calls the factor library, on every instruction set
// that Highway was built for and this machine has.
#include "kernels/on_instruction_set.h"
// It must come first.
#include "kernels/layer.h"

#include <dma/special/accuracy.h>
#include <dma/special/normal.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iostream>
#include <vector>

#include <dma/special/larger.h>

namespace dma::kernels {
namespace {

// One layer and one example. Every array is followed by slack, and that by a guard that must not change.
template <class T>
struct LayerState {
  static constexpr T guard = T(12345);

  std::size_t outputs, inputs;
  bool first;
  std::vector<T> mean, variance, input_mean, input_variance, input_square, next_mean, next_square;
  std::vector<T> back_mean, back_variance, z_mean, z_variance, next_z_mean, next_z_variance;
  std::vector<T> tau, rho;
  std::array<std::vector<T>, 3> scratch;
  std::array<std::vector<T>, 4> unit_scratch;

  DenseLayer<T> view() { return {outputs, inputs, mean.data(), variance.data()}; }
  LayerInput<T> input() const {
    return {input_mean.data(), first ? nullptr : input_variance.data(), input_square.data()};
  }
  UnitMessages<T> messages() const {
    return {back_mean.data(), back_variance.data(), z_mean.data(), z_variance.data()};
  }

  Scratch<T> rows() {
    return {{scratch[0].data(), scratch[1].data(), scratch[2].data()},
            {unit_scratch[0].data(), unit_scratch[1].data(), unit_scratch[2].data(),
             unit_scratch[3].data()}};
  }

  // A forward and a backward sweep; of a first layer also forward with the next input.
  bool run(const LayerKernels<T>& kernels, Rule rule, bool fused) {
    const UnitSums<T> sums{z_mean.data(), z_variance.data()};
    (first ? kernels.forward_exact : kernels.forward)(view(), input(), sums);
    if (first) return learn_first(kernels, fused);
    return (rule == Rule::direct ? kernels.backward_direct : kernels.backward_linear)(
        view(), input(), messages(), {tau.data(), rho.data()}, rows());
  }

  bool learn_first(const LayerKernels<T>& kernels, bool fused) {
    const LayerInput<T> next{next_mean.data(), nullptr, next_square.data()};
    const UnitSums<T> next_sums{next_z_mean.data(), next_z_variance.data()};
    if (fused)
      return kernels.update_then_forward(view(), input(), messages(), rows(), next, next_sums);
    const bool sound = kernels.update(view(), input(), messages(), rows());
    kernels.forward_exact(view(), next, next_sums);
    return sound;
  }

  void expect_guards() const {
    for (const auto* array :
         {&mean, &variance, &z_mean, &z_variance, &next_z_mean, &next_z_variance, &tau, &rho,
          &scratch[0], &scratch[1], &scratch[2]}) {
      ASSERT_EQ(array->back(), guard);
    }
    for (std::size_t k = 0; k < slack; ++k) {
      ASSERT_EQ(mean[outputs * inputs + k], T(0));
      ASSERT_EQ(variance[outputs * inputs + k], T(1));
    }
  }
};

template <class T>
std::vector<T> guarded(std::size_t size, T after = T(0)) {
  std::vector<T> array(size + slack + 1);
  std::fill(array.begin() + static_cast<std::ptrdiff_t>(size), array.end(), after);
  array.back() = LayerState<T>::guard;
  return array;
}

template <class T>
LayerState<T> random_layer(std::uint64_t seed) {
  special::Random random(seed);
  const auto outputs = static_cast<std::size_t>(1 + 20 * random.uniform());
  const auto inputs = static_cast<std::size_t>(1 + 70 * random.uniform());
  const auto of_inputs = guarded<T>(inputs);
  const auto of_units = guarded<T>(outputs);
  LayerState<T> layer{.outputs = outputs,
                      .inputs = inputs,
                      .first = random.uniform() < 0.3,
                      .mean = guarded<T>(outputs * inputs),
                      .variance = guarded<T>(outputs * inputs, 1),
                      .input_mean = of_inputs,
                      .input_variance = of_inputs,
                      .input_square = of_inputs,
                      .next_mean = of_inputs,
                      .next_square = of_inputs,
                      .back_mean = of_units,
                      .back_variance = of_units,
                      .z_mean = of_units,
                      .z_variance = of_units,
                      .next_z_mean = of_units,
                      .next_z_variance = of_units,
                      .tau = of_inputs,
                      .rho = of_inputs,
                      .scratch = {of_inputs, of_inputs, of_inputs},
                      .unit_scratch = {of_units, of_units, of_units, of_units}};
  for (std::size_t k = 0; k < outputs * inputs; ++k) {
    layer.mean[k] = T(random.normal());
    layer.variance[k] = T(std::exp(random.uniform(-4, 1)));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    layer.back_mean[i] = T(3 * random.normal());
    layer.back_variance[i] = random.uniform() < 0.1 ? std::numeric_limits<T>::infinity()
                                                    : T(std::exp(random.uniform(-2, 3)));
  }
  for (std::size_t j = 0; j < inputs; ++j) {
    const T a = random.uniform() < 0.1 ? T(0) : T(random.normal());
    layer.input_mean[j] = a;
    if (!layer.first) layer.input_variance[j] = T(std::exp(random.uniform(-4, 1)));
    layer.input_square[j] = a * a + layer.input_variance[j];
    layer.next_mean[j] = T(random.normal());
    layer.next_square[j] = layer.next_mean[j] * layer.next_mean[j];
  }
  return layer;
}

// The largest difference of the first entries, relative to the larger of the entry and the floor.
template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b, std::size_t count,
                  double floor) {
  double worst = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double scale = std::max(std::abs(double(a[k])), floor);
    const double apart = std::abs(double(a[k]) - double(b[k])) / scale;
    worst = std::max(worst, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
  }
  return worst;
}

template <class T>
double largest(const std::vector<T>& array, std::size_t count) {
  double result = std::numeric_limits<double>::min();
  for (std::size_t k = 0; k < count; ++k) result = std::max(result, std::abs(double(array[k])));
  return result;
}

template <class T>
double largest_difference(Rule rule, bool fused) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    auto expected = random_layer<T>(seed);
    auto actual = expected;
    EXPECT_TRUE(expected.run(scalar<T>(), rule, fused));
    EXPECT_TRUE(actual.run(simd<T>(), rule, fused));
    actual.expect_guards();
    const std::size_t units = actual.outputs;
    const std::size_t weights = units * actual.inputs;
    worst = std::max({worst, difference(expected.z_mean, actual.z_mean, units, 1),
                      difference(expected.z_variance, actual.z_variance, units, 1e-3),
                      difference(expected.next_z_mean, actual.next_z_mean, units, 1),
                      difference(expected.next_z_variance, actual.next_z_variance, units, 1e-3),
                      difference(expected.mean, actual.mean, weights, 0.1),
                      difference(expected.variance, actual.variance, weights, 1e-6),
                      difference(expected.tau, actual.tau, actual.inputs, 0.1),
                      difference(expected.rho, actual.rho, actual.inputs, 1e-3)});
  }
  return worst;
}

// Runs a check on every target that was compiled and that this machine has.
template <class Check>
void on_every_target(const Check& check) {
  const auto targets = kernels::instruction_sets();
  EXPECT_FALSE(targets.empty());
  for (const auto target : targets) {
    const kernels::OnInstructionSet chosen(target);
    check(hwy::TargetName(target));
  }
}

TEST(LayerKernels, SimdEqualsScalarOnEveryInstructionSet) {
  on_every_target([](const char* target) {
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      for (const bool fused : {false, true}) {
        const double in_double = largest_difference<double>(rule, fused);
        const double in_float = largest_difference<float>(rule, fused);
        std::cout << "  " << target << " " << name_of(rule) << (fused ? " fused" : "")
                  << ": double " << in_double << ", float " << in_float << "\n";
        EXPECT_LT(in_double, 1e-13);
        EXPECT_LT(in_float, 5e-5);
      }
    }
  });
}

TEST(LayerKernels, SayWhenTheNumbersBreakDown) {
  for (const std::uint64_t seed : {2ULL, 3ULL}) {  // an inner layer and a first one
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      for (const bool fused : {false, true}) {
        auto layer = random_layer<double>(seed);
        layer.first = seed == 3;
        layer.back_variance.assign(layer.outputs + slack + 1, 1.0);
        layer.variance[0] = std::nan("");
        EXPECT_FALSE(layer.run(simd<double>(), rule, fused));
      }
    }
  }
}

// Messages far stronger than what the sums know, and so weak that squares of their means overflow in float.
template <class T>
double largest_difference_with(Rule rule, bool first, double back_mean, double back_variance) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto expected = random_layer<T>(seed);
    expected.first = first;
    if (first) {
      for (std::size_t j = 0; j < expected.inputs; ++j) {
        expected.input_square[j] = expected.input_mean[j] * expected.input_mean[j];
      }
    }
    for (std::size_t i = 0; i < expected.outputs; ++i) {
      expected.back_mean[i] = T(back_mean);
      expected.back_variance[i] = T(back_variance);
    }
    auto actual = expected;
    EXPECT_TRUE(expected.run(scalar<T>(), rule, first));
    EXPECT_TRUE(actual.run(simd<T>(), rule, first));
    const std::size_t weights = actual.outputs * actual.inputs;
    worst = std::max({worst, difference(expected.mean, actual.mean, weights, 0.1),
                      difference(expected.variance, actual.variance, weights, 1e-2),
                      difference(expected.next_z_mean, actual.next_z_mean, actual.outputs, 1)});
  }
  return worst;
}

TEST(LayerKernels, StrongAndWeakMessages) {
  for (const bool first : {false, true}) {
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      EXPECT_LT(largest_difference_with<double>(rule, first, 0.5, 1e-13), 1e-12);
      EXPECT_LT(largest_difference_with<double>(rule, first, 1e100, 1e250), 1e-12);
      EXPECT_LT(largest_difference_with<float>(rule, first, 0.5, 1e-3), 1e-4);
      EXPECT_LT(largest_difference_with<float>(rule, first, 1e20, 1e37), 1e-4);
    }
  }
}

// v a^2 is all of the sum, and the noise is lost beside it: the new variance comes out at 0.
TEST(LayerKernels, SayWhenAVarianceIsRoundedAway) {
  auto layer = random_layer<float>(1);
  layer.outputs = layer.inputs = 1;
  layer.mean[0] = 0;
  layer.variance[0] = 1;
  for (auto* array : {&layer.input_mean, &layer.input_variance, &layer.input_square}) {
    std::fill(array->begin(), array->end(), 0.0F);
  }
  layer.input_mean[0] = 8192;
  layer.input_square[0] = 8192.0F * 8192.0F;
  layer.back_variance[0] = 1e-4F;
  for (const bool first : {false, true}) {
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      for (const bool fused : {false, true}) {
        auto copy = layer;
        copy.first = first;
        EXPECT_FALSE(copy.run(simd<float>(), rule, fused));
      }
    }
  }
}

// Numbers so large that squares of means are of the size of variances, but both far from overflow.
TEST(LayerKernels, WeakMessagesToTheInputs) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      auto expected = random_layer<double>(seed);
      expected.first = false;
      std::fill_n(expected.back_mean.begin(), expected.outputs, 1e65);
      std::fill_n(expected.back_variance.begin(), expected.outputs, 1e130);
      auto actual = expected;
      EXPECT_TRUE(expected.run(scalar<double>(), rule, false));
      EXPECT_TRUE(actual.run(simd<double>(), rule, false));
      const std::size_t n = actual.inputs;
      EXPECT_LT(difference(expected.rho, actual.rho, n, largest(expected.rho, n)), 1e-13);
      EXPECT_LT(difference(expected.tau, actual.tau, n, largest(expected.tau, n)), 1e-13);
    }
  }
}

TEST(LayerKernels, MessagesToTheInputsDoNotDependOnWhatStoodThere) {
  for (const LayerKernels<double>* kernels : {&scalar<double>(), &simd<double>()}) {
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      auto layer = random_layer<double>(2);
      ASSERT_FALSE(layer.first);
      auto used = layer;
      for (std::size_t j = 0; j < used.inputs; ++j) used.tau[j] = used.rho[j] = 7;
      EXPECT_TRUE(layer.run(*kernels, rule, false));
      EXPECT_TRUE(used.run(*kernels, rule, false));
      EXPECT_EQ(layer.tau, used.tau);
      EXPECT_EQ(layer.rho, used.rho);
    }
  }
}

TEST(LayerKernels, UnitsThatHearNothingTeachNothing) {
  for (const bool first : {false, true}) {
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      auto layer = random_layer<double>(3);
      layer.first = first;
      layer.back_variance.assign(layer.outputs + slack + 1,
                                 std::numeric_limits<double>::infinity());
      layer.back_mean.assign(layer.outputs + slack + 1, std::nan(""));
      const auto before = layer;
      EXPECT_TRUE(layer.run(simd<double>(), rule, first));
      EXPECT_EQ(layer.mean, before.mean);
      EXPECT_EQ(layer.variance, before.variance);
      EXPECT_EQ(layer.rho, before.rho);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------
// Units

// Units whose sums are given, with a message from above for each.
template <class T>
struct UnitState {
  explicit UnitState(std::size_t count, T slope, T prior_precision)
      : count_(count), slope_(slope), prior_precision_(prior_precision) {
    for (auto& array : arrays_) array = guarded<T>(count);
    // What follows y, the inputs of the layer above, is not the units'.
    for (auto& array : arrays_) std::fill(array.begin() + std::ptrdiff_t(count), array.end(), T(7));
  }

  Units<T> view() {
    return {.count = count_,
            .slope = slope_,
            .prior_precision = prior_precision_,
            .sum = {at(0), at(1)},
            .z_mean = at(2),
            .z_variance = at(3),
            .y_mean = at(4),
            .y_variance = at(5),
            .y_square = at(6),
            .gain = at(7),
            .residual = at(8),
            .back_mean = at(9),
            .back_variance = at(10)};
  }
  InputMessages<T> from_above() { return {at(11), at(12)}; }
  T* at(std::size_t array) { return arrays_[array].data(); }

  void expect_rest_untouched() const {
    for (const std::size_t y : {std::size_t{4}, std::size_t{5}, std::size_t{6}}) {
      for (std::size_t k = count_; k < arrays_[y].size(); ++k) ASSERT_EQ(arrays_[y][k], T(7));
    }
  }

 private:
  std::size_t count_;
  T slope_, prior_precision_;
  std::array<std::vector<T>, 13> arrays_;
};

// The contracts of special/accuracy.h, for arguments |u| <= 40 as there: in units of machine epsilon.
template <class T>
void expect_moments_within_contract(T slope) {
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  const std::size_t count = 4001;
  UnitState<T> state(count, slope, 0);
  for (std::size_t i = 0; i < count; ++i) {
    state.at(0)[i] = T(-40 + 80 * static_cast<double>(i) / static_cast<double>(count - 1));
    state.at(1)[i] = 1;
  }
  const Units<T> units = state.view();
  ASSERT_TRUE(simd<T>().activate(units));
  std::array<double, 4> worst{};
  for (std::size_t i = 0; i < count; ++i) {
    // The readable formula in double, which keeps the same contract, is the reference.
    const double u = static_cast<double>(units.z_mean[i]);
    const auto exact = special::leaky_relu_moments<double>(u, static_cast<double>(slope));
    const double bend = (1 - static_cast<double>(slope)) *
                        std::abs(exact.mean - std::max(u, u * static_cast<double>(slope)));
    const double mean_scale = std::abs(u) * (u < 0 ? static_cast<double>(slope) : 1) + bend;
    const auto far = [&](T value, double expected, double scale) {
      return scale < std::numeric_limits<T>::min() / epsilon
                 ? 0
                 : std::abs(static_cast<double>(value) - expected) / scale / epsilon;
    };
    worst[0] = special::larger(worst[0], far(units.y_mean[i], exact.mean, mean_scale));
    worst[1] = special::larger(worst[1], far(units.y_variance[i], exact.variance, exact.variance));
    worst[2] = special::larger(worst[2], far(units.gain[i], exact.gain, exact.gain));
    worst[3] = special::larger(worst[3], far(units.residual[i], exact.residual, exact.residual));
  }
  std::cout << "  slope " << slope << ": mean " << worst[0] << ", variance " << worst[1]
            << ", gain " << worst[2] << ", residual " << worst[3] << " epsilon\n";
  EXPECT_LE(worst[0], special::accuracy::leaky_relu_mean);
  EXPECT_LE(worst[1], special::accuracy::leaky_relu_variance);
  EXPECT_LE(worst[2], special::accuracy::leaky_relu_gain);
  EXPECT_LE(worst[3], special::accuracy::leaky_relu_residual);
}

TEST(UnitKernels, KeepTheAccuracyOfTheReadableFormulas) {
  on_every_target([](const char* target) {
    std::cout << "  " << target << "\n";
    for (const double slope : {0.0, 1e-6, 0.1, 0.5, 1.0}) {
      expect_moments_within_contract<double>(slope);
      expect_moments_within_contract<float>(static_cast<float>(slope));
    }
  });
}

// The same for the direct rule's way back: messages of precision 1 and means |v| <= 40.
template <class T>
void expect_inverse_moments_within_contract(T slope) {
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  const std::size_t count = 4001;
  UnitState<T> state(count, slope, 0);
  for (std::size_t i = 0; i < count; ++i) {
    state.at(11)[i] = T(-40 + 80 * static_cast<double>(i) / static_cast<double>(count - 1));
    state.at(12)[i] = 1;
  }
  const Units<T> units = state.view();
  simd<T>().hear_direct(units, state.from_above());
  double worst_mean = 0;
  double worst_variance = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double v = static_cast<double>(state.at(11)[i]);
    const double a = static_cast<double>(slope);
    const auto exact = special::leaky_relu_inverse_moments<double>(v, a);
    const double right = a * special::normal_cdf(v);
    const double left = special::normal_cdf(-v);
    const double parts = (right * special::truncated_moments(v).mean +
                          left * special::truncated_moments(-v).mean / a) /
                         (right + left);
    const double mean = static_cast<double>(units.back_mean[i]);
    const double variance = static_cast<double>(units.back_variance[i]);
    worst_mean = special::larger(worst_mean, std::abs(mean - exact.mean) / parts / epsilon);
    worst_variance =
        special::larger(worst_variance, std::abs(variance / exact.variance - 1) / epsilon);
  }
  std::cout << "  slope " << slope << ": mean " << worst_mean << ", variance " << worst_variance
            << " epsilon\n";
  EXPECT_LE(worst_mean, special::accuracy::leaky_relu_inverse_mean);
  EXPECT_LE(worst_variance, special::accuracy::leaky_relu_inverse_variance);
}

TEST(UnitKernels, KeepTheAccuracyOfTheReadableFormulasBackward) {
  on_every_target([](const char* target) {
    std::cout << "  " << target << "\n";
    for (const double slope : {1e-6, 0.1, 0.5, 1.0}) {
      expect_inverse_moments_within_contract<double>(slope);
      expect_inverse_moments_within_contract<float>(static_cast<float>(slope));
    }
  });
}

// Random units; some are point masses, some hear nothing.
template <class T>
UnitState<T> random_units(std::uint64_t seed) {
  special::Random random(seed);
  const auto count = static_cast<std::size_t>(1 + 40 * random.uniform());
  const T slope = T(random.uniform(0.05, 1));
  const T prior_precision = random.uniform() < 0.5 ? T(0) : T(random.uniform(0.2, 2));
  UnitState<T> state(count, slope, prior_precision);
  const bool odd = random.uniform() < 0.3;
  for (std::size_t i = 0; i < count; ++i) {
    state.at(0)[i] = T(3 * random.normal());
    state.at(1)[i] = odd && random.uniform() < 0.2 ? T(0) : T(std::exp(random.uniform(-4, 2)));
    state.at(11)[i] = T(3 * random.normal());
    state.at(12)[i] = odd && random.uniform() < 0.2 ? T(0) : T(std::exp(random.uniform(-3, 3)));
    if (state.at(12)[i] == 0) state.at(11)[i] = 0;
  }
  return state;
}

template <class T>
double units_difference(Rule rule) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    auto expected = random_units<T>(seed);
    auto actual = expected;
    for (const bool readable : {true, false}) {
      auto& state = readable ? expected : actual;
      const auto& kernels = readable ? scalar<T>() : simd<T>();
      EXPECT_TRUE(kernels.activate(state.view()));
      (rule == Rule::direct ? kernels.hear_direct : kernels.hear_linear)(state.view(),
                                                                         state.from_above());
    }
    actual.expect_rest_untouched();
    const std::size_t count = actual.view().count;
    for (std::size_t array = 2; array <= 10; ++array) {
      // Gain and residual of a point mass are nobody's.
      for (std::size_t i = 0; i < count; ++i) {
        if ((array == 7 || array == 8) && actual.at(1)[i] == 0) continue;
        const double a = static_cast<double>(expected.at(array)[i]);
        const double b = static_cast<double>(actual.at(array)[i]);
        if (std::isinf(expected.at(10)[i]) && array >= 9) {
          EXPECT_TRUE(std::isinf(actual.at(10)[i]));
          continue;
        }
        const double apart = std::abs(a - b) / std::max(std::abs(a), 0.1);
        worst = special::larger(worst, apart);
      }
    }
  }
  return worst;
}

TEST(UnitKernels, SimdEqualsScalarOnEveryInstructionSet) {
  on_every_target([](const char* target) {
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const double in_double = units_difference<double>(rule);
      const double in_float = units_difference<float>(rule);
      std::cout << "  " << target << " " << name_of(rule) << ": double " << in_double << ", float "
                << in_float << "\n";
      EXPECT_LT(in_double, 1e-13);
      EXPECT_LT(in_float, 5e-5);
    }
  });
}

TEST(UnitKernels, SayWhenASumIsNotFinite) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (const std::size_t array : {std::size_t{0}, std::size_t{1}}) {
      auto state = random_units<double>(4);
      state.at(array)[state.view().count - 1] = bad;
      EXPECT_FALSE(simd<double>().activate(state.view()));
    }
  }
}

// ---------------------------------------------------------------------------------------------------------
// Batches

TEST(BatchKernels, SimdEqualsScalarToTheBit) {
  on_every_target([](const char*) {
    for (std::size_t weights = 1; weights <= 40; ++weights) {
      special::Random random(weights);
      const std::vector<double> of_weights(weights);
      std::array<std::vector<double>, 4> belief{of_weights, of_weights, of_weights, of_weights};
      std::vector<double> cavity_tau = of_weights, cavity_rho = of_weights;
      for (std::size_t k = 0; k < weights; ++k) {
        cavity_tau[k] = random.normal();
        cavity_rho[k] = std::exp(random.normal());
      }
      std::array<std::vector<double>, 4> results[2];
      for (const bool readable : {true, false}) {
        const auto& kernels = readable ? scalar<double>() : simd<double>();
        auto [start_mean, start_variance, mean, variance] = belief;
        const BatchBelief<double> working{
            weights,           cavity_tau.data(),     cavity_rho.data(),
            start_mean.data(), start_variance.data(), mean.data(),
            variance.data()};
        std::array<std::vector<double>, 4> closed{of_weights, of_weights, of_weights, of_weights};
        kernels.open_batch(working);
        kernels.close_batch(working, {closed[0].data(), closed[1].data()},
                            {closed[2].data(), closed[3].data()});
        for (std::size_t k = 0; k < weights; ++k) {
          EXPECT_EQ(closed[0][k], 0);  // nothing was learnt
          EXPECT_EQ(closed[1][k], 0);
          EXPECT_EQ(closed[2][k], cavity_tau[k]);
        }
        for (double& m : mean) m += 0.1;
        for (double& v : variance) v *= 0.7;
        const auto sound = kernels.close_batch(working, {closed[0].data(), closed[1].data()},
                                               {closed[2].data(), closed[3].data()});
        EXPECT_TRUE(sound.proper);
        EXPECT_EQ(sound.negative, 0U);
        results[readable ? 0 : 1] = closed;
        for (std::size_t k = 0; k < weights; ++k) {
          const auto with_variance = [&](double other) {
            const double own = std::exchange(working.variance[k], other);
            const Closed result = kernels.close_batch(working, {closed[0].data(), closed[1].data()},
                                                      {closed[2].data(), closed[3].data()});
            working.variance[k] = own;
            return result;
          };
          EXPECT_FALSE(with_variance(0).proper) << k;
          EXPECT_FALSE(with_variance(std::nan("")).proper) << k;
          EXPECT_FALSE(with_variance(-start_variance[k]).proper) << k;
          const Closed wider = with_variance(1.1 * start_variance[k]);
          EXPECT_TRUE(wider.proper) << k;
          EXPECT_EQ(wider.negative, 1U) << k;
        }
      }
      EXPECT_EQ(results[0], results[1]);
    }
  });
}

}  // namespace
}  // namespace dma::kernels
