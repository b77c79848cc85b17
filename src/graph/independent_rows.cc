#include "graph/independent_rows.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

namespace dma::detail {
namespace {

// Smaller levels are not worth waking a thread.
constexpr std::size_t least_messages = 256;  // on average
constexpr std::size_t least_rows = 32;

template <class Visit>
void for_variables(FactorTable::Reader& read, std::span<const Step> pattern, std::uint32_t shift,
                   const Visit& visit) {
  std::uint32_t before = UINT32_MAX;
  for (const Step step : pattern) {
    if (step.factor == before) continue;
    before = step.factor;
    for (const std::uint32_t variable : read(step.factor + shift).variables) {
      if (!is_known(variable)) visit(variable);
    }
  }
}

// Variables that a step sends to.
std::vector<bool> sent_to(const FactorTable& table, std::size_t variables,
                          std::span<const Step> pattern, const Steps::Rows& part) {
  std::vector<bool> result(variables);
  FactorTable::Reader read(table);
  for (std::uint32_t row = 0; row < part.rows; ++row) {
    for (const Step step : pattern)
      result[read(step.factor + part.shift(row)).variables[step.edge]] = true;
  }
  return result;
}

struct Failure {
  std::uint32_t row;
  Step step;
  std::exception_ptr why;
};

}  // namespace

IndependentRows independent_rows(const FactorTable& table, std::size_t variables,
                                 std::span<const Step> pattern, const Steps::Rows& part) {
  const std::vector<bool> moves = sent_to(table, variables, pattern, part);
  std::vector<std::uint32_t> level_of_row(part.rows);
  std::vector<std::uint32_t> next_level(variables);  // above all rows so far that touch it
  FactorTable::Reader read(table);
  std::uint32_t levels = 0;
  for (std::uint32_t row = 0; row < part.rows; ++row) {
    std::uint32_t level = 0;
    for_variables(read, pattern, part.shift(row), [&](std::uint32_t variable) {
      if (moves[variable]) level = std::max(level, next_level[variable]);
    });
    for_variables(read, pattern, part.shift(row),
                  [&](std::uint32_t variable) { next_level[variable] = level + 1; });
    level_of_row[row] = level;
    levels = std::max(levels, level + 1);
  }
  if (pattern.size() * part.rows < least_messages * levels) return {};
  IndependentRows result{std::vector<std::uint32_t>(part.rows),
                         std::vector<std::size_t>(levels + std::size_t{1})};
  for (const std::uint32_t level : level_of_row) ++result.begin[level + 1];
  for (std::size_t level = 0; level < levels; ++level)
    result.begin[level + 1] += result.begin[level];
  std::vector<std::size_t> next(result.begin.begin(), result.begin.end() - 1);
  for (std::uint32_t row = 0; row < part.rows; ++row) result.rows[next[level_of_row[row]]++] = row;
  return result;
}

std::size_t thread_count(std::size_t asked) {
  return asked > 0 ? asked : std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

void run_independent(const IndependentRows& independent, std::span<SweepState> states,
                     Callable<void, SweepState&, std::uint32_t> run) {
  std::vector<std::optional<Failure>> failures(states.size());
  std::uint32_t end = UINT32_MAX;  // rows from the first failure on are not wanted
  const auto run_some = [&](std::size_t thread, std::span<const std::uint32_t> rows) {
    SweepState& state = states[thread];
    for (const std::uint32_t row : rows) {
      if (row >= end) return;
      try {
        run(state, row);
      } catch (...) {
        failures[thread] = {row, state.current, std::current_exception()};
        return;
      }
    }
  };
  const auto first_failure = [&] {
    return std::min_element(failures.begin(), failures.end(), [](const auto& a, const auto& b) {
      return (a ? a->row : UINT32_MAX) < (b ? b->row : UINT32_MAX);
    });
  };
  const auto run_level = [&](std::size_t level) {
    const std::size_t first = independent.begin[level];
    const auto rows =
        std::span(independent.rows).subspan(first, independent.begin[level + 1] - first);
    if (rows.size() < least_rows) {
      run_some(0, rows);
    } else {
      parallel_for_within(states.size(), [&](std::size_t thread) {
        const std::size_t begin = rows.size() * thread / states.size();
        const std::size_t stop = rows.size() * (thread + 1) / states.size();
        run_some(thread, rows.subspan(begin, stop - begin));
      });
    }
    if (const auto& failure = *first_failure()) end = failure->row;
  };
  // Once for all levels: getting threads takes longer than a level.
  parallel_for(1, states.size(), [&](std::size_t) {
    for (std::size_t level = 0; level + 1 < independent.begin.size(); ++level) run_level(level);
  });
  SweepState& all = states[0];
  if (const auto& failure = *first_failure()) {
    all.current = failure->step;
    std::rethrow_exception(failure->why);
  }
  for (SweepState& state : states.subspan(1)) {
    all.messages_sent += std::exchange(state.messages_sent, 0);
    std::move(state.events.begin(), state.events.end(), std::back_inserter(all.events));
    state.events.clear();
  }
  std::stable_sort(all.events.begin(), all.events.end(),
                   [](const MessageEvent& a, const MessageEvent& b) { return a.row < b.row; });
}

}  // namespace dma::detail
