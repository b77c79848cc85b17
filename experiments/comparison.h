// experiments/comparison.h: several methods on the same tasks, as tables, figures and verdicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiments/scores.h"

namespace dma::experiments {

// Tables have 20 tasks as in the paper; our own methods also 200, because medians over 20 tasks move by
// ±0.4 from one set of tasks to the next.
inline constexpr std::size_t paper_tasks = 20;
inline constexpr std::size_t own_tasks = 200;

// The task that the page shows is the first: the paper does not say which seed it shows.
inline constexpr std::uint64_t shown_seed = 1;

struct Contestant {
  Method method;
  std::size_t tasks = paper_tasks;
  PaperFigures paper = {};
  std::string why_not = {};  // if the paper's NLL is not reproduced
};

struct Comparison {
  std::vector<Contestant> contestants;
  std::vector<Scores> scores;  // one per contestant
  nlohmann::json summary = nlohmann::json::object();
  nlohmann::json rows = nlohmann::json::array();
  nlohmann::json verdicts =
      nlohmann::json::array();  // of the extrapolation NLLs that the paper has
  nlohmann::json figures = nlohmann::json::object();  // tasks
};

Comparison compare(Run& run, MakeTask make, std::vector<Contestant> contestants,
                   Regions regions = Regions::outside);

// Every contestant on one task, for the page: the rows, its band, and its training curve if it has epochs.
void append_shown(const Task& task, std::uint64_t seed, Comparison& comparison);

// What an experiment returns.
nlohmann::json as_result(Comparison comparison, nlohmann::json settings);

// "0.80, 20 tasks; 0.90, 200 tasks"
std::string medians_text(const std::vector<double>& values);

// The verdict on a median over the paper's 20 tasks.
nlohmann::json median_verdict(const std::string& figure, const std::vector<double>& values,
                              double paper, const std::string& paper_text,
                              const std::string& why_not);

// The verdict on a figure that the paper has from one task: it agrees if it is within 90 % of our tasks.
nlohmann::json one_task_verdict(const std::string& figure, const std::vector<double>& values,
                                double paper, const std::string& paper_text,
                                const std::string& why_not);

// Direct and linear on 200 tasks; the mixture and the default, which take longer, on so many; and the paper's figures
// for direct.
std::vector<Contestant> own_contestants(const PaperFigures& paper, std::size_t slow_tasks);

}  // namespace dma::experiments
