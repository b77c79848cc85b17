// dma infer graph.json: marginals of a factor graph.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <dma/data/atomic_file.h>
#include <dma/graph/saved_beliefs.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.h"
#include "cli/commands.h"
#include "cli/graph_json.h"
#include "cli/graph_page.h"
#include "cli/page.h"

namespace dma::cli {
namespace {

struct Arguments {
  std::string path;
  std::string data_path;
  std::string start, save, html;
  InferenceOptions options;
  std::optional<std::size_t> sweeps;
  bool json = false;
  bool print_schedule = false;
};

// A variable that no message reached has no marginal to print.
void require_information(const GraphFile& file, const Beliefs& beliefs) {
  for (const auto v : beliefs.improper_marginals) {
    if (beliefs.natural({v}).rho != 0) continue;
    throw BadInput("variable '" + file.name(Variable{v}) +
                   "' has no proper message, so its marginal is unknown: give it a prior or an "
                   "observation, or check the factors connected to it");
  }
}

// Arrays with more rows are counted, not listed.
constexpr std::size_t most_rows = 100;

void print_table(const GraphFile& file, const Beliefs& beliefs, const InferenceOptions& options) {
  const Graph& graph = file.graph;
  const std::vector<Variable> variables = listed(graph, most_rows);
  std::size_t width = 8;
  for (const Variable v : variables) width = std::max(width, file.name(v).size());
  fmt::print("{:<{}}  {:>14}  {:>14}\n", "variable", width, "mean", "std");
  for (const Variable v : variables) {
    if (beliefs.family(v) == MessageFamily::gamma) {
      const Gamma precision = beliefs.gamma_marginal(v);
      fmt::print("{:<{}}  {:>14.6g}  {:>14.6g}  Gamma, shape {:.6g}, rate {:.6g}\n", file.name(v),
                 width, precision.mean(), precision.stddev(), precision.shape, precision.rate);
      continue;
    }
    const auto marginal = beliefs.marginal(v);
    if (marginal.is_distribution()) {
      fmt::print("{:<{}}  {:>14.6g}  {:>14.6g}\n", file.name(v), width, marginal.mean(),
                 marginal.stddev());
    } else {
      fmt::print("{:<{}}  {:>14.6g}  precision {:.6g}\n", file.name(v), width, marginal.mean(),
                 marginal.rho);
    }
  }
  for (const NamedVariables& names : graph.names()) {
    const std::size_t size = names.array().size();
    if (size > most_rows) fmt::print("{:<{}}  {} variables: see --json\n", names.name, width, size);
  }
  fmt::print("\n{} variables, {} factors; engine {}", graph.variable_count(), graph.factor_count(),
             name_of(options.engine));
  if (options.engine == Engine::direct) fmt::print(", rule {}", name_of(options.rule));
  if (options.damping > 0) fmt::print(", damping {:g}", options.damping);
  fmt::print("; {} messages in {} sweep{}", beliefs.messages_sent, beliefs.sweeps,
             beliefs.sweeps == 1 ? "" : "s");
  if (options.tolerance > 0) {
    fmt::print(", {}: the last sweep moved a marginal by at most {:.2g} standard deviations",
               beliefs.converged ? "converged" : "not converged", beliefs.last_change);
    if (!beliefs.moving.empty()) {
      fmt::print("; {} variable{} moved by more than the tolerance, the first '{}'",
                 beliefs.moving.size(), beliefs.moving.size() == 1 ? "" : "s",
                 file.name(Variable{beliefs.moving.front()}));
    }
  }
  fmt::print("\n");
  if (const Evidence evidence = evidence_of(graph, beliefs); evidence.log) {
    fmt::print("log evidence {:.6f}{}\n", *evidence.log,
               graph.is_forest() ? "" : ", the Bethe approximation: there are cycles");
  } else {
    fmt::print("{}\n", evidence.why);
  }
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

Beliefs infer(const Graph& graph, const Arguments& arguments, const Schedule& schedule) {
  if (arguments.start.empty()) return graph.infer(arguments.options, schedule);
  return graph.infer(arguments.options, schedule, load_beliefs(arguments.start, graph));
}

void write_page(const Arguments& arguments, const GraphFile& file, const Beliefs& beliefs) {
  const std::string name = std::filesystem::path(arguments.path).filename().string();
  AtomicFile page(arguments.html);
  page.write(page_with(graph_page(file, beliefs, arguments.options, name)));
  page.commit();
}

void run(const Arguments& arguments) {
  const GraphFile file = read_graph(arguments.path, arguments.data_path);
  try {
    // ADF has its own order and ignores the file's schedule.
    const bool supplied = file.schedule && arguments.options.engine != Engine::adf;
    const Schedule schedule = supplied ? *file.schedule : file.graph.schedule(arguments.options);
    if (arguments.print_schedule) {
      fmt::print("{}", file.graph.text(schedule));
      return;
    }
    const Beliefs beliefs = infer(file.graph, arguments, schedule);
    require_information(file, beliefs);
    if (!arguments.save.empty()) save_beliefs(beliefs, arguments.save);
    if (!arguments.html.empty()) write_page(arguments, file, beliefs);
    if (arguments.json) {
      fmt::print("{}\n", to_json(file, beliefs, arguments.options).dump());
    } else {
      print_table(file, beliefs, arguments.options);
    }
  } catch (const FileError& error) {
    throw BadInput(error.what());
  } catch (const ModelError& error) {
    throw BadInput(error.what());
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
  command.option("--data", arguments->data_path, "CSV file that the model's plates range over")
      .text("FILE");
  command
      .option("--start", arguments->start,
              "go on from the beliefs in this file, of the graph as it is or before it grew")
      .text("FILE");
  command.option("--save", arguments->save, "write the beliefs to this file, for --start")
      .text("FILE");
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
      .option("--damping", arguments->options.damping,
              "share of the old message that is kept (default: 0)")
      .real(0, 0.999);
  command
      .option("--acceleration", arguments->options.acceleration,
              "sweeps to look back on to extrapolate the next, with --tolerance (default: 0)")
      .whole(0, 100);
  command
      .choice<OnImproper>(
          "--on-improper", options.on_improper,
          {{"pass", OnImproper::pass}, {"skip", OnImproper::skip}, {"stop", OnImproper::stop}},
          "what to do with messages of negative precision: pass (default), skip or stop")
      .text("NAME");
  command
      .option("--html", arguments->html,
              "write a page to this file: the graph, its beliefs, and what did not converge")
      .text("FILE");
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
