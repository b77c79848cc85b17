// data/encoder.h: from a table's columns to the standardised numbers that a network takes.
//
//   numeric, date/time   (x - mean) / deviation; an empty cell becomes 0, and if there were empty cells in
//                        training, a second column is 1 where the cell is empty
//   boolean              0 or 1 (true/false, yes/no, t/f, y/n, on/off: text, any case), else as numeric
//   categorical          one column per value of training, 0 or 1, and one for every other value; an empty
//                        cell is a value of its own if there were any in training, else "other"
//
// 0/1 columns are not standardised: a rare value would become a huge number. The column for "other" is
// always 0 in training, unless rare values share it, so its weights keep their prior: a value never seen
// widens the interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dma/data/csv.h>
#include <dma/data/error.h>
#include <dma/data/table.h>

namespace dma {

enum class ColumnKind { numeric, boolean, categorical, datetime };
std::string_view name_of(ColumnKind kind);

struct FeatureColumn {
  std::string name;
  ColumnKind kind = ColumnKind::numeric;
  double mean = 0, deviation = 1;  // numeric, datetime (in days since 1970)
  bool indicator = false;          // an extra column marks empty cells
  bool text = false;               // how the file's cells are read
  std::vector<std::string> categories =
      {};  // categorical: the values that have a column; "" is the empty cell

  std::size_t width() const;
};

struct TargetColumn {
  std::string name;
  double mean = 0, deviation = 1;
};

// What was left out of the features, and why, in words for the user.
struct DroppedColumn {
  std::string name, reason;
};

struct EncoderOptions {
  std::vector<std::string> targets = {};   // at least one
  std::vector<std::string> features = {};  // empty: every other column
  std::vector<std::string> drop = {};
  std::vector<std::string> categorical = {};  // even if they read as numbers
  std::size_t most_categories = 50;           // of one column; the rarest beyond share "other"
};

// Rows ready for a network: row-major, standardised.
struct EncodedRows {
  std::size_t rows = 0;
  std::vector<double> inputs = {}, targets = {};
  std::vector<std::uint64_t> hashes =
      {};  // of the row's features and targets as they stand in the table
  std::vector<std::size_t> table_rows = {};  // where each came from
  std::size_t without_target = 0;            // rows left out because a target is empty
};

struct Encoder {
  std::vector<FeatureColumn> features;
  std::vector<TargetColumn> targets;
  std::vector<DroppedColumn> dropped;

  // Finds the kinds and scales. Throws DataError if a named column is not there, a target is text or
  // constant, fewer than two rows have a target, or no feature is left.
  static Encoder fit(const Table& table, const EncoderOptions& options);

  std::size_t width() const;                     // encoded inputs
  std::vector<std::string> input_names() const;  // x, x is empty, color = red, color = (other)
  // How to read a file for this encoder.
  std::vector<WantedColumn> wanted(bool with_targets) const;

  // Throws DataError if a column is missing or holds what it cannot be (naming line, column, value).
  EncodedRows encode(
      const Table& table) const;  // with targets and hashes; rows without are left out
  EncodedRows encode_inputs(const Table& table) const;  // inputs only, every row
};

}  // namespace dma
