// One dense layer, forward and backward: nanoseconds per weight visit, compared with the scalar reference and the
// machine's ceilings. Like joint.cc, it uses the library's internals.
#include "kernels/layer.h"

#include <dma/special/random.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "bench/ceilings.h"
#include "bench/machine.h"
#include "bench/networks.h"
#include "bench/sections.h"
#include "kernels/on_instruction_set.h"

namespace dma::bench {
namespace {

// ---- What the kernels are, and what one visit of a weight takes at least -----------------------------------

// fused: the first layer, whose inputs are known exactly, learns from one example and is swept forward for the next.
// The others are for a hidden layer.
enum class Pass { forward, fused, linear, direct };

// What src/kernels/layer-inl.h does per weight, by counting:
//   operations      vector arithmetic other than divisions: products, sums, comparisons, selections
//   divisions       per weight
//   weight_numbers  read from and written to the layer's weights
//   near_numbers    all loads and stores, the weights' among them; these go through the first-level cache
struct Work {
  double operations, divisions, weight_numbers, near_numbers;
};
constexpr Work work_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return {.operations = 4, .divisions = 0, .weight_numbers = 2, .near_numbers = 2.75};
    case Pass::fused:
      return {.operations = 6, .divisions = 0, .weight_numbers = 4, .near_numbers = 4.75};
    case Pass::linear:
      return {.operations = 9, .divisions = 1, .weight_numbers = 4, .near_numbers = 7};
    case Pass::direct:
      break;
  }
  return {.operations = 25, .divisions = 2, .weight_numbers = 4, .near_numbers = 14};
}

const char* name_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::fused:
      return "update and forward";
    case Pass::linear:
      return "backward linear";
    case Pass::direct:
      break;
  }
  return "backward direct";
}

constexpr auto passes = {Pass::forward, Pass::fused, Pass::linear, Pass::direct};

// ---- A layer to run them on --------------------------------------------------------------------------------

template <class T>
constexpr const char* number_name() {
  return sizeof(T) == sizeof(float) ? "float" : "double";
}

// Values from a short table: a layer of 2048 x 2048 must not take seconds to draw.
template <class T>
std::vector<T> drawn(std::size_t count, double low, double high) {
  special::Random random(1);
  std::vector<T> few(4099);  // a prime: rows differ
  for (T& value : few) value = T(random.uniform(low, high));
  std::vector<T> values(count);
  for (std::size_t k = 0; k < count; ++k) values[k] = few[k % few.size()];
  return values;
}

// An array as the kernels need it, with slack after it.
template <class T>
std::vector<T> with_slack(std::vector<T> values, T after) {
  values.resize(values.size() + kernels::slack, after);
  return values;
}

template <class T>
std::vector<T> filled(std::size_t count, T value) {
  return std::vector<T>(count + kernels::slack, value);
}

// So noisy that a weight hardly moves: after any number of visits the numbers are still ordinary.
template <class T>
struct Layer {
  Layer(std::size_t outputs_, std::size_t inputs_)
      : outputs(outputs_),
        inputs(inputs_),
        mean(with_slack(drawn<T>(outputs * inputs, -0.1, 0.1), T(0))),
        variance(with_slack(drawn<T>(outputs * inputs, 0.01, 0.02), T(1))),
        input_mean(with_slack(drawn<T>(inputs, -1, 1), T(0))),
        input_variance(with_slack(drawn<T>(inputs, 0.1, 0.2), T(0))),
        input_square(input_mean),
        exact_square(input_mean),
        back_mean(filled<T>(outputs, 1)),
        back_variance(filled<T>(outputs, T(1e6))),
        z_mean(filled<T>(outputs, 0)),
        z_variance(filled<T>(outputs, 1)),
        next_z_mean(z_mean),
        next_z_variance(z_variance),
        tau(filled<T>(inputs, 0)),
        rho(tau),
        scratch{tau, tau, tau},
        unit_scratch{z_mean, z_mean, z_mean, z_mean} {
    for (std::size_t j = 0; j < inputs; ++j) {
      exact_square[j] = input_mean[j] * input_mean[j];
      input_square[j] = exact_square[j] + input_variance[j];
    }
  }

  kernels::DenseLayer<T> view() { return {outputs, inputs, mean.data(), variance.data()}; }
  kernels::LayerInput<T> input() const {
    return {input_mean.data(), input_variance.data(), input_square.data()};
  }
  kernels::LayerInput<T> exact_input() const {
    return {input_mean.data(), nullptr, exact_square.data()};
  }

  kernels::Scratch<T> rows() {
    return {{scratch[0].data(), scratch[1].data(), scratch[2].data()},
            {unit_scratch[0].data(), unit_scratch[1].data(), unit_scratch[2].data(),
             unit_scratch[3].data()}};
  }

  void forward(const kernels::LayerKernels<T>& kernels, bool first) {
    const kernels::UnitSums<T> sums{z_mean.data(), z_variance.data()};
    (first ? kernels.forward_exact : kernels.forward)(view(), first ? exact_input() : input(),
                                                      sums);
    benchmark::ClobberMemory();
  }

  void run(const kernels::LayerKernels<T>& kernels, Pass pass) {
    if (pass == Pass::forward) return forward(kernels, false);
    const kernels::UnitMessages<T> units{back_mean.data(), back_variance.data(), z_mean.data(),
                                         z_variance.data()};
    if (pass == Pass::fused) {
      benchmark::DoNotOptimize(
          kernels.update_then_forward(view(), exact_input(), units, rows(), exact_input(),
                                      {next_z_mean.data(), next_z_variance.data()}));
      return;
    }
    const auto kernel = pass == Pass::linear ? kernels.backward_linear : kernels.backward_direct;
    benchmark::DoNotOptimize(kernel(view(), input(), units, {tau.data(), rho.data()}, rows()));
  }

  std::size_t outputs, inputs;
  std::vector<T> mean, variance, input_mean, input_variance, input_square, exact_square;
  std::vector<T> back_mean, back_variance, z_mean, z_variance, next_z_mean, next_z_variance;
  std::vector<T> tau, rho;
  std::array<std::vector<T>, 3> scratch;
  std::array<std::vector<T>, 4> unit_scratch;
};

std::size_t weight_bytes(std::size_t width, std::size_t number_bytes) {
  return 2 * width * width * number_bytes;
}

// ---- Measurements ------------------------------------------------------------------------------------------

std::string name(Pass pass, const char* number, std::size_t width, const char* set) {
  return fmt::format("kernels/{}/{}/{:04}/{}", name_of(pass), number, width, set);
}

template <class T>
void add_kernel(Plan& plan, Pass pass, std::size_t width, std::int64_t set) {
  plan.measure({.name = name(pass, number_name<T>(), width, hwy::TargetName(set)),
                .unit = "ns per weight",
                .scale = 1e9 / static_cast<double>(width * width),
                .run = [=](benchmark::State& state) {
                  const kernels::OnInstructionSet chosen(set);
                  Layer<T> layer(width, width);
                  for (auto _ : state) layer.run(kernels::simd<T>(), pass);
                }});
}

template <class T>
void add_scalar(Plan& plan, Pass pass, std::size_t width) {
  plan.measure({.name = name(pass, number_name<T>(), width, "scalar"),
                .unit = "ns per weight",
                .scale = 1e9 / static_cast<double>(width * width),
                .run = [=](benchmark::State& state) {
                  Layer<T> layer(width, width);
                  for (auto _ : state) layer.run(kernels::scalar<T>(), pass);
                }});
}

// The units between two layers.
template <class T>
struct Activation {
  explicit Activation(std::size_t count) : arrays(13, filled<T>(count, 0)) {
    arrays[0] = with_slack(drawn<T>(count, -2, 2), T(0));
    arrays[1] = with_slack(drawn<T>(count, 0.5, 1), T(0));
    arrays[11] = arrays[0];
    arrays[12] = arrays[1];
    units = {.count = count,
             .slope = T(0.1),
             .prior_precision = 0,
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

  void run(const kernels::LayerKernels<T>& kernels, bool forward, Rule rule) {
    if (forward) {
      benchmark::DoNotOptimize(kernels.activate(units));
    } else {
      (rule == Rule::linear ? kernels.hear_linear : kernels.hear_direct)(units, {at(11), at(12)});
    }
    benchmark::ClobberMemory();
  }

  T* at(std::size_t array) { return arrays[array].data(); }

  std::vector<std::vector<T>> arrays;
  kernels::Units<T> units;
};

template <class T>
void add_activation(Plan& plan, bool forward, Rule rule) {
  constexpr std::size_t units = 256;
  const std::string_view what = forward                ? "forward"
                                : rule == Rule::linear ? "backward linear"
                                                       : "backward direct";
  for (const bool readable : {false, true}) {
    plan.measure({.name = fmt::format("kernels/activation {}/{}{}", what, number_name<T>(),
                                      readable ? "/scalar" : ""),
                  .unit = "ns per unit",
                  .scale = 1e9 / units,
                  .run = [=](benchmark::State& state) {
                    Activation<T> activation(units);
                    const auto& kernels = readable ? kernels::scalar<T>() : kernels::simd<T>();
                    activation.run(kernels, true, rule);
                    for (auto _ : state) activation.run(kernels, forward, rule);
                  }});
  }
}

// ---- Prediction against its kernels ------------------------------------------------------------------------

// The forward kernels of all layers, for one row, and nothing between them.
template <class T>
struct Stack {
  explicit Stack(const Architecture& architecture) {
    for (std::size_t l = 0; l < architecture.layers(); ++l) {
      layers.emplace_back(architecture.layer(l).units, architecture.layer(l).inputs);
    }
  }
  void forward() {
    for (std::size_t l = 0; l < layers.size(); ++l) layers[l].forward(kernels::simd<T>(), l == 0);
  }
  std::vector<Layer<T>> layers;
};

template <class T>
void add_prediction(Plan& plan, const Network& network) {
  const auto name = [&](const char* what) {
    return fmt::format("kernels/{} {}/{}", what, network.name, number_name<T>());
  };
  plan.measure({.name = name("forward of"),
                .unit = "ns per row",
                .scale = 1e9,
                .run = [&network](benchmark::State& state) {
                  Stack<T> stack(network.architecture);
                  for (auto _ : state) stack.forward();
                }});
  plan.measure({.name = name("predict of"),
                .unit = "ns per row",
                .scale = 1e9 / static_cast<double>(network.rows),
                .run = [&network](benchmark::State& state) {
                  const auto posterior = belief<T>(network, {}).posterior();
                  for (auto _ : state) {
                    benchmark::DoNotOptimize(
                        predict(posterior, network.inputs, network.rows).mean[0]);
                  }
                }});
  plan.quotient(name("kernel's share of predict,"), name("forward of"), name("predict of"),
                Better::larger, at_least(0.6));
}

// ---- Ratios ------------------------------------------------------------------------------------------------

// Nanoseconds of a visit if only the slowest resource counts.
double bound(const Results& results, Pass pass, const char* number, std::size_t number_bytes,
             std::size_t width, std::int64_t set) {
  const Work work = work_of(pass);
  const auto bytes = static_cast<double>(number_bytes);
  const auto memory = memory_of(weight_bytes(width, number_bytes));
  return std::max({work.operations * results.median(operations_ceiling(number, set)),
                   work.divisions * results.median(divisions_ceiling(number, set)),
                   work.near_numbers * bytes * results.median(memory_ceiling(Memory::level1, set)),
                   work.weight_numbers * bytes * results.median(memory_ceiling(memory, set))});
}

template <class T>
void add_share(Plan& plan, Pass pass, std::size_t width, std::int64_t set) {
  std::optional<Target> target;
  const bool near = weight_bytes(width, sizeof(T)) <= caches().level2;
  if (pass != Pass::direct && sizeof(T) == sizeof(float) && near) target = at_least(0.6);
  const std::string measured = name(pass, number_name<T>(), width, hwy::TargetName(set));
  const auto values = [=](const Results& results) {
    const double least = bound(results, pass, number_name<T>(), sizeof(T), width, set);
    std::vector<double> shares;
    for (const double time : results.values(measured)) shares.push_back(least / time);
    return shares;
  };
  plan.ratio({measured + ", share of ceiling", Better::larger, target, values});
}

// In nanoseconds, on the kind of machine for which they were set.
void add_absolute_target(Plan& plan, Pass pass, std::size_t width, std::int64_t set) {
  if (!is_neoverse_v1() || pass == Pass::direct) return;
  if (weight_bytes(width, sizeof(float)) > caches().level2) return;
  const std::string measured = name(pass, "float", width, hwy::TargetName(set));
  const double nanoseconds = pass == Pass::forward ? 0.25 : 0.5;
  const auto values = [=](const Results& results) {
    std::vector<double> shares;
    for (const double time : results.values(measured)) shares.push_back(time / nanoseconds);
    return shares;
  };
  plan.ratio({measured + ", of its target", Better::smaller, at_most(1), values, true});
}

void add_comparisons(Plan& plan, std::size_t width, const char* set) {
  for (const char* number : {"float", "double"}) {
    plan.quotient(fmt::format("kernels/direct over linear/{}/{:04}", number, width),
                  name(Pass::direct, number, width, set), name(Pass::linear, number, width, set),
                  Better::smaller, at_most(2.5));
  }
  const bool near = weight_bytes(width, sizeof(double)) <= caches().level2;
  for (const Pass pass : passes) {
    std::optional<Target> target;
    if (near && pass != Pass::direct) target = at_most(2.1);
    plan.quotient(fmt::format("kernels/double over float/{}/{:04}", name_of(pass), width),
                  name(pass, "double", width, set), name(pass, "float", width, set),
                  Better::smaller, target);
  }
}

template <class T>
void add_layers(Plan& plan, std::size_t width, bool all_kinds) {
  const auto sets = kernels::instruction_sets();
  for (const Pass pass : passes) {
    for (const std::int64_t set : sets) {
      if (set != sets.front() && !all_kinds) continue;
      add_kernel<T>(plan, pass, width, set);
      add_share<T>(plan, pass, width, set);
    }
    if (!all_kinds) continue;
    add_scalar<T>(plan, pass, width);
    plan.quotient(
        fmt::format("kernels/scalar over SIMD/{}/{}/{:04}", name_of(pass), number_name<T>(), width),
        name(pass, number_name<T>(), width, "scalar"),
        name(pass, number_name<T>(), width, hwy::TargetName(sets.front())), Better::larger);
  }
}

}  // namespace

void add_activations(Plan& plan) {
  add_activation<float>(plan, true, Rule::linear);
  add_activation<double>(plan, true, Rule::linear);
  for (const Rule rule : {Rule::linear, Rule::direct}) {
    add_activation<float>(plan, false, rule);
    add_activation<double>(plan, false, rule);
  }
}

void add_kernels(Plan& plan) {
  const auto sets = kernels::instruction_sets();
  for (const std::int64_t set : sets) add_ceilings(plan, set);
  const std::vector<std::size_t> widths =
      plan.quick ? std::vector<std::size_t>{32, 256}
                 : std::vector<std::size_t>{8, 16, 32, 64, 128, 256, 512, 1024, 2048};
  for (const std::size_t width : widths) {
    // The scalar kernel and lesser instruction sets: at two widths.
    const bool all_kinds = width == 32 || width == 256;
    add_layers<float>(plan, width, all_kinds);
    add_layers<double>(plan, width, all_kinds);
    add_comparisons(plan, width, hwy::TargetName(sets.front()));
    for (const Pass pass : passes) add_absolute_target(plan, pass, width, sets.front());
  }
  static const std::vector<Network> networks{table_network(), network({8, 100, 100, 1}, 500),
                                             network({784, 256, 256, 10}, 100)};
  for (const Network& one : networks) {
    add_prediction<float>(plan, one);
    add_prediction<double>(plan, one);
  }
  add_activations(plan);
}

}  // namespace dma::bench
