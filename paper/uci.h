// paper/uci.h: the UCI sets on their standard splits, fitted and scored.
#pragma once

#include <dma/regressor/regressor.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "paper/rivals.h"

namespace dma::cli {

struct UciTable {
  const UciSet* published;
  Table table;
  std::vector<std::vector<std::size_t>> test_rows;  // by split
  bool inner = false;                               // see read_uci
};

// NAME.csv and NAME.splits.json, plain or as .gz; at most so many splits, 0: all. With `inner` the test rows of a split
// are removed, and every tenth of its training rows is scored instead: for choices that no test row may influence.
UciTable read_uci(const std::filesystem::path& folder, const UciSet& published, std::size_t splits,
                  bool inner);

struct SplitScore {
  Metrics test;
  double cavity_nll = 0, seconds = 0;
};

// Scores by table and split, on so many threads; 0: all cores. Split k has seed k.
std::vector<std::vector<SplitScore>> run_splits(const std::vector<UciTable>& tables,
                                                const RegressorOptions& options,
                                                std::size_t threads);

struct Summary {
  double mean = 0, error = 0;  // standard error over splits
};

struct SetScore {
  const UciSet* published;
  std::size_t splits;
  Summary rmse, ll, seconds, cavity_ll;
  Summary first_rmse, first_ll;  // over the first five splits
  std::array<double, 4> coverage{};
};

SetScore summarise(const UciTable& table, const std::vector<SplitScore>& scores);

}  // namespace dma::cli
