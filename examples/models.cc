// Five models on tables, the same as the JSON files of this folder.
//
//   models examples        reads walk.csv, mixed_effects.csv, cup.csv, clicks.csv and ratings.csv there
#include <dma/dma.h>

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using dma::EdgeRows;
using dma::GammaPrior;
using dma::GaussianPrecision;
using dma::Observation;
using dma::Prior;
using dma::WeightedSum;

// The distinct values of columns, in the order of their first appearance.
class Labels {
 public:
  std::vector<std::size_t> rows_of(const dma::Table& table, const std::string& column) {
    const dma::Column& cells = *table.find(column);
    std::vector<std::size_t> rows;
    for (const std::uint32_t code : cells.codes) rows.push_back(row_of(cells.values[code]));
    return rows;
  }
  std::size_t count() const { return names_.size(); }
  const std::string& name(std::size_t row) const { return names_[row]; }

 private:
  std::size_t row_of(const std::string& name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) names_.push_back(name);
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }

  std::vector<std::string> names_;
};

std::vector<std::size_t> indices_of(const dma::Table& table, const std::string& column) {
  const std::vector<double>& numbers = table.find(column)->numbers;
  return {numbers.begin(), numbers.end()};
}

template <class Belief>
void print(const std::string& name, const Belief& belief) {
  fmt::print("  {:<24} {:8.4f} ± {:.4f}\n", name, belief.mean(), belief.stddev());
}

// A level that walks at random, seen through noise; both precisions are learnt. Row t leads from state t to state t + 1.
void walk(const dma::Table& table) {
  const auto& seen = table.find("seen")->numbers;
  const auto before = indices_of(table, "before");
  const auto now = indices_of(table, "now");
  dma::Graph g;
  const auto step = g.variable("step");
  const auto noise = g.variable("noise");
  const auto level = g.variables("level", table.rows() + 1);
  const auto value = g.variables("value", table.rows());
  g.add(GammaPrior{2, 0.2}, step);
  g.add(GammaPrior{2, 2}, noise);
  g.add(Prior{0, 1}, level[0]);
  g.add([&](std::size_t row) { return Observation{seen[row], 0}; }, {value});
  g.add(GaussianPrecision{}, {value, level.at(now), noise});
  g.add(GaussianPrecision{}, {level.at(now), level.at(before), step});
  const auto beliefs = g.infer({.sweeps = 100, .tolerance = 1e-6});
  fmt::print("walk, {} sweeps, log evidence {:.4f}\n", beliefs.sweeps, g.log_evidence(beliefs));
  print("precision of a step", beliefs.gamma_marginal(step));
  print("precision of the noise", beliefs.gamma_marginal(noise));
  print("last level", beliefs.marginal(level[table.rows()]));
}

// y = intercept + slope x + effect of the group + noise; the precisions of effects and noise are learnt.
void mixed_effects(const dma::Table& table) {
  const auto& x = table.find("x")->numbers;
  const auto& y = table.find("y")->numbers;
  Labels groups;
  const auto group = groups.rows_of(table, "group");
  dma::Graph g;
  const auto of_effects = g.variable("precision of effects");
  const auto of_noise = g.variable("precision of noise");
  const auto no_effect = g.variable("no effect");
  g.add(GammaPrior{1.5, 1.5}, of_effects);
  g.add(GammaPrior{1.5, 1.5}, of_noise);
  g.add(Prior{0, 0}, no_effect);
  const auto intercept = g.variable("intercept");
  const auto slope = g.variable("slope");
  g.add(Prior{0, 100}, intercept);
  g.add(Prior{0, 100}, slope);
  const auto effect = g.variables("effect", groups.count());
  g.add(GaussianPrecision{}, {effect, no_effect, of_effects});
  const auto mean = g.variables("mean", table.rows());
  const auto value = g.variables("value", table.rows());
  g.add(
      [&](std::size_t row) {
        return WeightedSum{{1, x[row], 1}};
      },
      {mean, intercept, slope, effect.at(group)});
  g.add([&](std::size_t row) { return Observation{y[row], 0}; }, {value});
  g.add(GaussianPrecision{}, {value, mean, of_noise});
  const auto beliefs = g.infer({.sweeps = 1000, .tolerance = 1e-6});
  fmt::print("mixed effects, {} sweeps\n", beliefs.sweeps);
  print("precision of effects", beliefs.gamma_marginal(of_effects));
  print("precision of noise", beliefs.gamma_marginal(of_noise));
  print("slope", beliefs.marginal(slope));
  for (std::size_t k = 0; k < groups.count(); ++k)
    print(groups.name(k), beliefs.marginal(effect[k]));
}

// TrueSkill with draws.
void cup(const dma::Table& table) {
  const auto& result = table.find("result")->numbers;
  Labels teams;
  const auto first = teams.rows_of(table, "first");
  const auto second = teams.rows_of(table, "second");
  dma::Graph g;
  const auto skill = g.variables("skill", teams.count(), Prior{0, 1});
  g.add(
      [&](std::size_t row) {
        return dma::WinDrawLoss{static_cast<int>(result[row]), 0.5, 2};
      },
      {skill.at(first), skill.at(second)});
  const auto beliefs = g.infer({.engine = dma::Engine::ep, .sweeps = 100, .tolerance = 1e-9});
  fmt::print("cup, {} sweeps\n", beliefs.sweeps);
  for (std::size_t k = 0; k < teams.count(); ++k) print(teams.name(k), beliefs.marginal(skill[k]));
}

// adPredictor: a weight for each value of each column.
void clicks(const dma::Table& table) {
  const auto& clicked = table.find("clicked")->numbers;
  dma::Graph g;
  const auto bias = g.variable("bias");
  g.add(Prior{0, 1}, bias);
  const auto score = g.variables("score", table.rows());
  std::vector<EdgeRows> edges{score, bias};
  std::vector<std::vector<std::size_t>> rows;
  rows.reserve(3);  // edges refer to them
  for (const std::string column : {"device", "hour", "topic"}) {
    Labels values;
    rows.push_back(values.rows_of(table, column));
    edges.push_back(
        g.variables("weight of " + column, values.count(), Prior{0, 1}).at(rows.back()));
  }
  g.add(WeightedSum{{1, 1, 1, 1}}, edges);
  g.add([&](std::size_t row) { return dma::Probit{static_cast<int>(clicked[row])}; }, {score});
  const auto beliefs = g.infer({.engine = dma::Engine::ep, .sweeps = 100, .tolerance = 1e-6});
  fmt::print("clicks, {} sweeps\n", beliefs.sweeps);
  print("bias", beliefs.marginal(bias));
}

// Matchbox: ratings as inner products of two traits of the user and two of the item, and a bias of the item.
void ratings(const dma::Table& table) {
  const auto& rating = table.find("rating")->numbers;
  Labels users, items;
  const auto user = users.rows_of(table, "user");
  const auto item = items.rows_of(table, "item");
  dma::Graph g;
  // Were all means 0, nothing would tell one trait from the other.
  const auto of_users = g.variables("user", {users.count(), 2});
  const auto of_items = g.variables("item", {items.count(), 2});
  for (std::size_t k = 0; k < users.count(); ++k) {
    g.add(Prior{0.5, 1}, of_users(k, 0));
    g.add(Prior{0, 1}, of_users(k, 1));
  }
  for (std::size_t k = 0; k < items.count(); ++k) {
    g.add(Prior{0, 1}, of_items(k, 0));
    g.add(Prior{0.5, 1}, of_items(k, 1));
  }
  const auto bias = g.variables("bias", items.count(), Prior{0, 0.25});
  const auto match = g.variables("match", table.rows());
  const auto score = g.variables("score", table.rows());
  g.add(dma::InnerProduct{5}, {match, of_users.at(user), of_items.at(item)});
  g.add(WeightedSum{{1, 1}}, {score, match, bias.at(item)});
  g.add([&](std::size_t row) { return Observation{rating[row], 0.25}; }, {score});
  const auto beliefs = g.infer({.rule = dma::Rule::linear, .sweeps = 100, .tolerance = 1e-2});
  fmt::print("ratings, {} sweeps\n", beliefs.sweeps);
  for (std::size_t k = 0; k < items.count(); ++k)
    print("bias of " + items.name(k), beliefs.marginal(bias[k]));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: models FOLDER\n");
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    walk(dma::read_csv(folder / "walk.csv"));
    mixed_effects(dma::read_csv(folder / "mixed_effects.csv"));
    cup(dma::read_csv(folder / "cup.csv"));
    clicks(dma::read_csv(folder / "clicks.csv"));
    ratings(dma::read_csv(folder / "ratings.csv"));
  } catch (const std::exception& error) {
    fmt::print(stderr, "models: {}\n", error.what());
    return 1;
  }
}
