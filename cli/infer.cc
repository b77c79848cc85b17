// dma infer graph.json: marginals of a factor graph.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/bad_input.h"
#include "cli/commands.h"
#include "cli/graph_json.h"

namespace dma::cli {
namespace {

struct Arguments {
  std::string path;
  InferenceOptions options;
  std::optional<std::size_t> sweeps;
  bool json = false;
  bool print_schedule = false;
};

// A variable that no message reached has no marginal to print.
void require_information(const Graph& graph, const Beliefs& beliefs) {
  for (const auto v : beliefs.improper_marginals) {
    if (beliefs.marginal({v}).rho != 0) continue;
    throw BadInput("variable '" + graph.name(Variable{v}) +
                   "' has no proper message, so its marginal is unknown: give it a prior or an "
                   "observation, or check the factors connected to it");
  }
}

void print_table(const Graph& graph, const Beliefs& beliefs, const InferenceOptions& options) {
  std::size_t width = 8;
  for (std::uint32_t v = 0; v < graph.variable_count(); ++v) {
    width = std::max(width, graph.name(Variable{v}).size());
  }
  fmt::print("{:<{}}  {:>14}  {:>14}\n", "variable", width, "mean", "std");
  for (std::uint32_t v = 0; v < graph.variable_count(); ++v) {
    const auto marginal = beliefs.marginal({v});
    if (marginal.is_distribution()) {
      fmt::print("{:<{}}  {:>14.6g}  {:>14.6g}\n", graph.name(Variable{v}), width, marginal.mean(),
                 marginal.stddev());
    } else {
      fmt::print("{:<{}}  {:>14.6g}  precision {:.6g}\n", graph.name(Variable{v}), width,
                 marginal.mean(), marginal.rho);
    }
  }
  fmt::print("\n{} variables, {} factors; engine {}", graph.variable_count(), graph.factor_count(),
             name_of(options.engine));
  if (options.engine == Engine::direct) fmt::print(", rule {}", name_of(options.rule));
  fmt::print("; {} messages in {} sweep{}", beliefs.messages_sent, beliefs.sweeps,
             beliefs.sweeps == 1 ? "" : "s");
  if (options.tolerance > 0) {
    fmt::print(", {}: the last sweep moved a marginal by at most {:.2g} standard deviations",
               beliefs.converged ? "converged" : "not converged", beliefs.last_change);
  }
  fmt::print("\n");
  if (!beliefs.improper.empty()) {
    const auto& first = beliefs.improper.front();
    fmt::print("{} messages of negative precision; the first from {} to {} in sweep {}: {:.6g}\n",
               beliefs.improper.size(), graph.name(FactorId{first.factor}),
               graph.name(graph.edge({first.factor}, first.edge)), first.sweep, first.rho);
  }
  if (!beliefs.failed.empty()) {
    const auto& first = beliefs.failed.front();
    fmt::print("{} messages failed; the first from {} to {} in sweep {}: {}\n",
               beliefs.failed.size(), graph.name(FactorId{first.factor}),
               graph.name(graph.edge({first.factor}, first.edge)), first.sweep, first.why);
  }
  if (!beliefs.collapsed.empty()) {
    fmt::print("{} variables collapsed to a point mass at a Dirac factor\n",
               beliefs.collapsed.size());
  }
}

void run(const Arguments& arguments) {
  const GraphFile file = read_graph(arguments.path);
  try {
    // ADF has its own order and ignores the file's schedule.
    const bool supplied = file.schedule && arguments.options.engine != Engine::adf;
    const Schedule schedule = supplied ? *file.schedule : file.graph.schedule(arguments.options);
    if (arguments.print_schedule) {
      fmt::print("{}", file.graph.text(schedule));
      return;
    }
    const Beliefs beliefs = file.graph.infer(arguments.options, schedule);
    require_information(file.graph, beliefs);
    if (arguments.json) {
      fmt::print("{}\n", to_json(file.graph, beliefs, arguments.options).dump());
    } else {
      print_table(file.graph, beliefs, arguments.options);
    }
  } catch (const std::exception& error) {
    throw BadInput(arguments.path + ": " + error.what());
  }
}

}  // namespace

void add_infer(Command app) {
  auto arguments = std::make_shared<Arguments>();
  const Command command = app.command("infer", "compute the marginals of a factor graph");
  command.option("graph", arguments->path, "JSON file with the graph, see docs/graph-json.md")
      .required();
  InferenceOptions& options = arguments->options;
  command
      .choice<Engine>("--engine", options.engine,
                      {{"direct", Engine::direct},
                       {"ep", Engine::ep},
                       {"vmp", Engine::vmp},
                       {"adf", Engine::adf}},
                      "direct (default), ep, vmp or adf")
      .text("NAME");
  command
      .choice<Rule>("--rule", options.rule, {{"direct", Rule::direct}, {"linear", Rule::linear}},
                    "messages of engine direct: direct (default) or linear")
      .text("NAME");
  command.option("--sweeps", arguments->sweeps, "maximum sweeps (default: 1; 100 with --tolerance)")
      .whole(1, 1000000);
  command
      .option("--tolerance", arguments->options.tolerance,
              "stop when no marginal moves by more, in its standard deviations")
      .real(0, 1);
  command
      .choice<OnImproper>(
          "--on-improper", options.on_improper,
          {{"pass", OnImproper::pass}, {"skip", OnImproper::skip}, {"stop", OnImproper::stop}},
          "what to do with messages of negative precision: pass (default), skip or stop")
      .text("NAME");
  command.flag("--schedule", arguments->print_schedule, "print the schedule and exit");
  command.flag("--json", arguments->json, "print one JSON object");
  command.footer("example: dma infer examples/product.json --engine ep --tolerance 1e-6");
  command.run([arguments] {
    InferenceOptions& asked = arguments->options;
    if (arguments->sweeps) {
      asked.sweeps = *arguments->sweeps;
    } else if (asked.tolerance > 0 && asked.engine != Engine::adf) {
      asked.sweeps = 100;
    }
    run(*arguments);
  });
}

}  // namespace dma::cli
