// TrueSkill: ratings from a list of matches.
//
//   trueskill matches.csv          a header, then one "winner,loser" per line, or "one,other,draw"
//
// Each match is a small graph on the two players' current ratings, solved by EP (the engine that
// TrueSkill uses); the marginals become the new ratings.
#include <dma/dma.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr double start_mean = 25;
constexpr double start_deviation = 25.0 / 3;
constexpr double beta = 25.0 / 6;   // performance noise
constexpr double tau = 25.0 / 300;  // how far a skill may drift between two matches
constexpr double draw_probability = 0.10;

using Rating = dma::Gaussian<double>;

struct Player {
  Rating rating = Rating::from_moments(start_mean, start_deviation* start_deviation);
  int matches = 0;

  // A skill that the player exceeds with a probability of about 99.9 %.
  double conservative() const { return rating.mean() - 3 * rating.stddev(); }
};

// Difference of performances below which a match is a draw.
double draw_margin() {
  return dma::special::normal_quantile((draw_probability + 1) / 2) * std::sqrt(2.0) * beta;
}

// The ratings of winner and loser, or of both if nobody won, after a match.
std::array<Rating, 2> play(const std::array<Rating, 2>& before, bool draw) {
  dma::Graph graph;
  std::array<dma::Variable, 2> skill{};
  std::array<dma::Variable, 2> performance{};
  for (std::size_t i = 0; i < 2; ++i) {
    skill[i] = graph.variable();
    performance[i] = graph.variable();
    graph.add(dma::Prior{before[i].mean(), before[i].variance() + tau * tau}, skill[i]);
    graph.add(dma::WeightedSum{{1}, 0, beta * beta}, performance[i], skill[i]);
  }
  const auto difference = graph.variable("difference");
  graph.add(dma::WeightedSum{{1, -1}}, difference, performance[0], performance[1]);
  const double margin = draw_margin();
  if (draw) {
    graph.add(dma::Between{-margin, margin}, difference);
  } else {
    graph.add(dma::GreaterThan{margin}, difference);
  }
  const auto beliefs = graph.infer({.engine = dma::Engine::ep});
  return {beliefs.marginal(skill[0]), beliefs.marginal(skill[1])};
}

int fail(const std::string& what) {
  fmt::print(stderr, "trueskill: {}\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: trueskill matches.csv\n");
    return 2;
  }
  const std::string path = argv[1];
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return fail(path + ": cannot be read, or is empty");
  std::map<std::string, Player> players;
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const std::string_view drawn = ",draw";
    const bool draw = line.ends_with(drawn);
    const std::string names = line.substr(0, line.size() - (draw ? drawn.size() : 0));
    const auto comma = names.find(',');
    const std::string winner = names.substr(0, comma);
    const std::string loser = comma == std::string::npos ? "" : names.substr(comma + 1);
    if (winner.empty() || loser.empty() || winner == loser ||
        loser.find(',') != std::string::npos) {
      return fail(
          fmt::format("{}:{}: expected two different names, \"winner,loser\" or "
                      "\"one,other,draw\", got \"{}\"",
                      path, number, line));
    }
    Player& one = players[winner];
    Player& two = players[loser];
    const auto [winners, losers] = play({one.rating, two.rating}, draw);
    one.rating = winners;
    two.rating = losers;
    ++one.matches;
    ++two.matches;
  }
  std::vector<std::pair<std::string, Player>> table(players.begin(), players.end());
  std::stable_sort(table.begin(), table.end(), [](const auto& a, const auto& b) {
    return a.second.conservative() > b.second.conservative();
  });
  fmt::print("{:<16} {:>8} {:>8} {:>8} {:>8}\n", "player", "matches", "skill", "std", "rating");
  for (const auto& [name, player] : table) {
    fmt::print("{:<16} {:>8} {:>8.3f} {:>8.3f} {:>8.3f}\n", name, player.matches,
               player.rating.mean(), player.rating.stddev(), player.conservative());
  }
}
