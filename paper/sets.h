// paper/sets.h: tables with splits into training and test rows, fitted and scored.
#pragma once

#include <dma/regressor/regressor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "paper/rivals.h"

namespace dma::cli {

// A text file, plain or compressed. Throws BadInput.
std::string read_text(const std::filesystem::path& path);

struct FoundSet {
  std::string name, file;   // a set with published figures has the name it was published under
  const UciSet* published;  // null: nothing is
};

// The sets in a folder, sorted by name: every NAME.csv that has a NAME.splits.json, each plain or as .gz. Throws
// BadInput if there is none.
std::vector<FoundSet> sets_in(const std::filesystem::path& folder);

struct BenchmarkSet {
  std::string name;
  const UciSet* published = nullptr;
  Table table;
  std::string target;
  TargetKind kind = TargetKind::number;
  std::vector<std::vector<std::size_t>> test_rows;  // by split
  bool inner = false;                               // see read_set
};

// The target is the last column and a number; those of the usual sets with classes are known. Another kind may be given.
//
// At most so many splits, 0: all. With `inner` the test rows of a split are removed, and every tenth of its training
// rows is scored instead: for choices that no test row may influence.
BenchmarkSet read_set(const std::filesystem::path& folder, const FoundSet& found, TargetKind kind,
                      std::size_t splits, bool inner);

struct SplitScore {
  Metrics test;
  double cavity_nll = 0, seconds = 0;
};

// Scores by set and split, on so many threads; 0: all cores. Split k has seed k.
std::vector<std::vector<SplitScore>> run_splits(const std::vector<BenchmarkSet>& sets,
                                                const RegressorOptions& options,
                                                std::size_t threads);

}  // namespace dma::cli
