// An epoch of five networks: ours, libtorch's Adam, the scalar kernel, the graph engine.
//
// Ours is measured in two ways. "learning" takes every example once forward and once backward, one by one, and scores
// it along the way (IndependentBelief::learn); it is compared with Adam's training steps, which have no training score
// either. The others are fit() over several epochs, divided by their number, with everything that a user waits for,
// including a training score after each epoch (a second sweep forward) and the certificate.
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>

#include <fmt/core.h>

#include "baselines/torch_baselines.h"
#include "bench/adam.h"
#include "bench/clock.h"
#include "bench/networks.h"
#include "bench/sections.h"

namespace dma::bench {
namespace {

constexpr double noise_variance = 0.04;
constexpr std::size_t largest_ledger = 256 << 20;  // bytes; a full ledger of more is left out

// The measurements of one network. A network that takes seconds has fewer epochs and repetitions.
struct Case {
  const Network& network;
  std::size_t epochs;
  int repetitions;
  bool small;  // the target is ten times Adam's speed, and the graph engine is measured

  std::string name(const std::string& what) const {
    return fmt::format("epochs/{}/{}", network.name, what);
  }
};

Options options_of(const Case& task, Rule rule, LedgerMode ledger, std::size_t batch) {
  return {{.batch_size = batch,
           .max_epochs = task.epochs,
           .tolerance = 0,
           .ledger = ledger,
           .likelihood = gaussian({.variance = {noise_variance}})},
          {.rule = rule}};
}

template <class T>
double epoch_seconds(const Network& network, const Options& options) {
  auto ours = belief<T>(network, options);
  const double begin = processor_seconds();
  const FitResult result = ours.fit();
  return (processor_seconds() - begin) / static_cast<double>(result.epochs);
}

template <class T>
double learning_seconds(const Network& network, const Options& options) {
  IndependentBelief<T> ours(network.architecture, network.prior, options.training, options.own);
  ours.learn(network.data());
  const double begin = processor_seconds();
  for (std::size_t epoch = 0; epoch < options.training.max_epochs; ++epoch)
    ours.learn(network.data());
  return (processor_seconds() - begin) / static_cast<double>(options.training.max_epochs);
}

template <class T>
void add_ours(Plan& plan, const Case& task, const std::string& what, const Options& options) {
  const Network& network = task.network;
  plan.once(task.name(what), "s per epoch", task.repetitions,
            [&network, options] { return epoch_seconds<T>(network, options); });
}

template <class T>
void add_fits(Plan& plan, const Case& task, const char* number) {
  const std::size_t rows = task.network.rows;
  for (const Rule rule : {Rule::linear, Rule::direct}) {
    // Every example is learnt at once whatever the batch; with one batch nothing is divided out in between.
    const Options options = options_of(task, rule, LedgerMode::none, rows);
    add_ours<T>(plan, task, fmt::format("{} {}", name_of(rule), number), options);
    plan.once(task.name(fmt::format("learning {} {}", name_of(rule), number)), "s per epoch",
              task.repetitions,
              [&network = task.network, options] { return learning_seconds<T>(network, options); });
  }
  for (const std::size_t batch : {std::size_t{1}, std::size_t{20}}) {
    const std::size_t batches = (rows + batch - 1) / batch;
    const std::size_t weights = task.network.architecture.weight_count();
    if (ledger_bytes(LedgerMode::full, batches, weights, sizeof(T)) > largest_ledger) continue;
    add_ours<T>(plan, task, fmt::format("linear {}, ledger full, batches of {}", number, batch),
                options_of(task, Rule::linear, LedgerMode::full, batch));
    plan.quotient(task.name(fmt::format("the ledger's price, {}, batches of {}", number, batch)),
                  task.name(fmt::format("linear {}, ledger full, batches of {}", number, batch)),
                  task.name(fmt::format("linear {}", number)), Better::smaller);
  }
}

void add_scalar(Plan& plan, Case task) {
  if (!task.small) task.repetitions = 1;  // half a minute otherwise
  Options options = options_of(task, Rule::linear, LedgerMode::none, task.network.rows);
  options.own.readable_kernel = true;
  options.training.max_epochs = 1;
  add_ours<double>(plan, task, "linear double, scalar kernel", options);
  plan.quotient(task.name("scalar kernel over ours"), task.name("linear double, scalar kernel"),
                task.name("linear double"), Better::larger);
}

void add_adam(Plan& plan, const Case& task, std::size_t batch, std::optional<Target> target) {
  const Network& network = task.network;
  const std::string name = task.name(fmt::format("Adam, batches of {}", batch));
  plan.once(name, "s per epoch", task.repetitions, [&network, batch, epochs = task.epochs] {
    const baselines::Problem problem{network.architecture, network.inputs, network.targets,
                                     network.rows, noise_variance};
    const auto result = train_adam(
        problem, network.prior.mean,
        {.learning_rate = 1e-4, .epochs = epochs, .batch_size = batch, .single_precision = true});
    return spread(result.epoch_seconds).median;
  });
  plan.quotient(task.name(fmt::format("Adam in batches of {} over learning", batch)), name,
                task.name("learning linear float"), Better::larger, target);
  plan.quotient(task.name(fmt::format("Adam in batches of {} over fit", batch)), name,
                task.name("linear float"), Better::larger);
}

// One example as a graph: products, sums, leaky ReLUs.
Graph example_graph(const Network& network) {
  Graph graph;
  std::vector<Variable> units;
  for (std::size_t j = 0; j < network.architecture.inputs(); ++j) {
    units.push_back(graph.variable());
    graph.add(Observation{network.inputs[j], 0}, units.back());
  }
  std::size_t flat = 0;
  for (std::size_t l = 0; l < network.architecture.layers(); ++l) {
    std::vector<Variable> sums;
    for (std::size_t i = 0; i < network.architecture.layer(l).units; ++i) {
      std::vector<Variable> parts{graph.variable()};
      for (const Variable unit : units) {
        const Variable weight = graph.variable();
        parts.push_back(graph.variable());
        graph.add(Prior{network.prior.mean[flat], network.prior.variance[flat]}, weight);
        graph.add(Product{}, parts.back(), weight, unit);
        ++flat;
      }
      graph.add(WeightedSum{std::vector<double>(units.size(), 1.0)},
                std::span<const Variable>(parts));
      sums.push_back(parts[0]);
      if (l + 1 == network.architecture.layers()) continue;
      sums.back() = graph.variable();
      graph.add(LeakyRelu{network.architecture.slope(l)}, sums.back(), parts[0]);
    }
    units = sums;
  }
  for (std::size_t k = 0; k < units.size(); ++k) {
    graph.add(Observation{network.targets[k], noise_variance}, units[k]);
  }
  return graph;
}

// One sweep over the graph of an example, times the rows: the time of an epoch without building the graphs.
void add_graph_engine(Plan& plan, const Case& task) {
  const std::string name = task.name("graph engine");
  plan.measure({.name = name,
                .unit = "s per epoch",
                .scale = static_cast<double>(task.network.rows),
                .run =
                    [&network = task.network](benchmark::State& state) {
                      const Graph graph = example_graph(network);
                      const Schedule schedule = graph.sequential_schedule();
                      for (auto _ : state) {
                        benchmark::DoNotOptimize(
                            graph.infer({.rule = Rule::linear}, schedule).messages_sent);
                      }
                    },
                .repetitions = task.repetitions});
  plan.quotient(task.name("graph engine over ours"), name, task.name("linear double"),
                Better::larger);
}

// Every hidden unit's leaky ReLU, once forward and once back.
void add_activation_share(Plan& plan, const Case& task) {
  const Architecture& architecture = task.network.architecture;
  double units = 0;
  for (std::size_t l = 0; l + 1 < architecture.layers(); ++l) {
    units += static_cast<double>(architecture.layer(l).units);
  }
  const double visits = units * static_cast<double>(task.network.rows);
  const auto values = [visits, epoch = task.name("learning linear float")](const Results& results) {
    const double nanoseconds = results.median("kernels/activation forward/float") +
                               results.median("kernels/activation backward linear/float");
    std::vector<double> shares;
    for (const double seconds : results.values(epoch)) {
      shares.push_back(1e-9 * nanoseconds * visits / seconds);
    }
    return shares;
  };
  plan.ratio({task.name("share of the activations"), Better::smaller, at_most(0.15), values});
}

// 455 examples one by one, in seconds.
void add_time_target(Plan& plan, const Case& task) {
  const auto values = [epoch = task.name("learning linear float")](const Results& results) {
    std::vector<double> shares;
    for (const double seconds : results.values(epoch)) shares.push_back(seconds / 0.45e-3);
    return shares;
  };
  plan.ratio({task.name("epoch over 0.45 ms"), Better::smaller, at_most(1), values, true});
}

void add_case(Plan& plan, const Case& task, bool adam) {
  add_fits<float>(plan, task, "float");
  add_fits<double>(plan, task, "double");
  plan.quotient(task.name("double over float"), task.name("learning linear double"),
                task.name("learning linear float"), Better::smaller);
  plan.quotient(task.name("direct over linear"), task.name("learning direct float"),
                task.name("learning linear float"), Better::smaller, at_most(2.5));
  const bool image = task.network.architecture.weight_count() > 100'000;
  if (!image) add_scalar(plan, task);  // minutes
  if (task.small) add_graph_engine(plan, task);
  if (task.network.architecture.widths[1] >= 50) add_activation_share(plan, task);
  if (!adam) return;
  add_adam(plan, task, 20, at_least(task.small ? 10 : 1));
  add_adam(plan, task, 256, image ? std::optional(at_least(0.25)) : std::nullopt);
}

}  // namespace

void add_epochs(Plan& plan) {
  static const std::vector<Network> networks{small_network(), deep_network(), table_network(),
                                             wide_network(), image_network()};
  const bool adam = adam_is_comparable(plan);
  add_activations(plan);
  const int repetitions = plan.quick ? 3 : 7;
  add_case(plan, {networks[0], 40, repetitions, true}, adam);
  add_case(plan, {networks[1], 10, repetitions, true}, adam);
  const Case table{networks[2], 40, repetitions, true};
  add_case(plan, table, adam);
  add_time_target(plan, table);
  if (plan.quick) return;
  add_case(plan, {networks[3], 3, 3, false}, adam);
  add_case(plan, {networks[4], 1, 3, false}, adam);
}

}  // namespace dma::bench
