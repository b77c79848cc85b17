// regressor/stream.h: fits a file in one pass; it need not fit into memory.
//
//   const auto model = dma::fit_stream({"big.csv.gz"}, {.target = "y", .epochs = 1, .ledger = dma::LedgerMode::none});
//
// The file is read twice: first to find the encoder, then to learn. While some rows are learnt, the next ones are read.
// Memory does not grow with the file. Rows are shuffled within windows of 65,536 (fewer if they would take more
// than 16 MB): shuffle a sorted file first. Copies of a row in the same window are learnt together.
//
// One pass has its limits: there is no training NLL (NaN), and rows can neither be forgotten nor swept again. The noise
// is learnt along the way (IndependentBelief::learn). FitReport::cavity scores each row as predicted before it was
// learnt, with the noise known then.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <dma/data/csv.h>
#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

namespace dma {

struct StreamedFile {
  std::filesystem::path path;  // not standard input or a pipe: these cannot be read twice
  CsvOptions csv = {};
  // Share of the rows to hold out, from the encoder too; which ones depends only on RegressorOptions::seed.
  double holdout = 0;
  // Rows to read at a time; the result does not depend on it.
  std::size_t piece_rows = 4096;
};

// Which rows of a table, or of its pieces in their order, are held out: of those that have every target and a weight a share,
// by chance; no others. One draw per such row.
class HeldOutRows {
 public:
  HeldOutRows(double share, std::uint64_t seed, std::vector<std::string> targets,
              std::string weight)
      : share_(share), random_(seed), targets_(std::move(targets)), weight_(std::move(weight)) {}

  // Of the next piece: the rows held out, or the others.
  Table choose(const Table& piece, bool held_out);

 private:
  double share_;
  special::Random random_;
  std::vector<std::string> targets_;
  std::string weight_;
};

// Throws DataError unless a share of the rows with a target leaves two to learn from and one to test on.
void require_split(double share, std::size_t learnt, std::size_t held_out,
                   const std::string& source);

// Whether the file can be read twice.
bool can_stream(const std::filesystem::path& path);
// Whether the options ask for one pass that keeps nothing about the rows: epochs 1, ledger none, no joint belief.
bool is_one_pass(const RegressorOptions& options);

// What the first reading finds.
struct StreamedTable {
  Encoder encoder;
  std::string source;
  std::size_t rows = 0;  // of the file; of these
  std::size_t held_out = 0;
  std::size_t without_target = 0;
  std::size_t without_weight = 0;
  std::size_t columns = 0;
  ReadingNotes notes = {};
};
StreamedTable look_through(const StreamedFile& file, const RegressorOptions& options);

struct StreamProgress {
  std::size_t rows;  // learnt
  double share;      // of the file's bytes, about
};
// Called after every 1024 rows, from any thread; false stops the fit cleanly.
using OnStreamProgress = std::function<bool(const StreamProgress&)>;

// Throws DataError like read_csv and Encoder, and NetworkError if the options are not for one pass.
Regressor fit_stream(const StreamedFile& file, const RegressorOptions& options,
                     const OnStreamProgress& progress = {});
// The same with the encoder from look_through().
Regressor fit_stream(const StreamedFile& file, Encoder encoder, const RegressorOptions& options,
                     const OnStreamProgress& progress = {});

// Regressor::evaluate for a file of any size: over the rows that fit_stream held out, or over all if the file's holdout
// is 0.
std::vector<Metrics> evaluate_stream(const Regressor& model, const StreamedFile& file,
                                     std::size_t threads = 0);

}  // namespace dma
