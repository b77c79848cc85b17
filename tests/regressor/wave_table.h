// wave_table.h: a small table whose truth is known, and its rows.
#pragma once

#include <dma/data/table.h>
#include <dma/special/random.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace dma::test {

// y = 10 + 5 (sin(2 a) + b / 2) + N(0, (5 deviation)^2); a, b standard normal.
inline Table wave_table(std::size_t rows, double deviation, std::uint64_t seed) {
  special::Random random(seed);
  Table table{.columns = {{.name = "a"}, {.name = "b"}, {.name = "y"}}};
  for (std::size_t n = 0; n < rows; ++n) {
    const double a = random.normal();
    const double b = random.normal();
    table.columns[0].numbers.push_back(a);
    table.columns[1].numbers.push_back(b);
    table.columns[2].numbers.push_back(10 +
                                       5 * (std::sin(2 * a) + b / 2 + deviation * random.normal()));
  }
  return table;
}

// Of a table, those from the first to the one before the end.
inline Table rows_of(const Table& table, std::size_t first, std::size_t end) {
  std::vector<std::size_t> rows(end - first);
  std::iota(rows.begin(), rows.end(), first);
  return select_rows(table, rows);
}

}  // namespace dma::test
