// graph/independent_rows.h: rows of a schedule that may run at the same time.
//
//   level of a row = 1 + the highest level of the rows before it that touch a variable which it touches
//
// Rows of one level share no variable that is sent to, so that they neither read nor write what another writes. Level
// after level every row therefore finds what it would find row after row: the same bits, whatever runs at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dma/base/parallel.h>
#include <dma/graph/factor_table.h>
#include <dma/graph/kinds.h>
#include <dma/graph/schedule.h>

namespace dma::detail {

struct IndependentRows {
  std::vector<std::uint32_t> rows;  // level by level, ascending within
  std::vector<std::size_t> begin;   // of each level; one more at the end
};

// Nothing if the levels have so few rows that threads would wait for each other most of the time.
IndependentRows independent_rows(const FactorTable& table, std::size_t variables,
                                 std::span<const Step> pattern, const Steps::Rows& part);

// At least 1; 0 asks for all cores.
std::size_t thread_count(std::size_t asked);

// Calls run(state, row) for all rows, with one state per thread. What the others recorded moves to the first state, in the
// order of rows. If rows throw, it throws what the first of them did, as row after row would, and the first state has its
// step.
void run_independent(const IndependentRows& independent, std::span<SweepState> states,
                     Callable<void, SweepState&, std::uint32_t> run);

}  // namespace dma::detail
