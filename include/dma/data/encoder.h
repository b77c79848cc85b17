// data/encoder.h: turns a table's columns into the standardised numbers that a network takes.
//
//   numeric, date/time   (x - mean) / deviation; an empty cell becomes 0, and if there were empty cells in
//                        training, a second column is 1 where the cell is empty
//   date/time            also the parts that repeat (data/dates.h) and differ in training; of an empty cell 0
//   boolean              0 or 1 (true/false, yes/no, t/f, y/n, on/off: text, any case); an empty cell
//                        becomes the share of ones, else as numeric
//   categorical          one column per value of training, 0 or 1, and one for every other value; an empty
//                        cell is a value of its own if there were any in training, else "other"
//   with more values     two columns, whatever their number: what the value does to the target, and how uncertain that
//                        is (data/effects.h); for each of several targets or classes
//
// 0/1 columns are not standardised: a rare value would become a huge number. The column for "other" is
// always 0 in training, unless rare values share it, so its weights keep their prior and say nothing.
//
// A cell is unseen if training had none like it: a category without a column of its own, unless rare values share one; a
// text that is neither true nor false; an empty cell in a column that had none. It is listed (EncodedRows::unseen), so that
// a prediction can take every value that training had in its place (regressor/unseen.h), unless the column has effects:
// that of any value is known to be 0, give or take how far effects are apart. A category that differs from
// exactly one of training in the case of its letters or in outer spaces alone is that one. Both are counted.
//
// A target is a number, which is standardised; an amount, whose logarithm is; a count, which stays as it is; or a class,
// which becomes its place among the classes, from 0 on.
//
// Where a row with an unseen cell is learnt, an empty cell counts as the mean, without a mark: there is no input for one. A
// text that is neither true nor false counts as an empty cell does. A
// column that had only one value, and empty cells, keeps only the mark: its deviation is 0. (A categorical one keeps
// its two columns and "other".)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dma/base/error.h>
#include <dma/data/bounds.h>
#include <dma/data/csv.h>
#include <dma/data/dates.h>
#include <dma/data/effects.h>
#include <dma/data/table.h>

namespace dma {

enum class ColumnKind { numeric, boolean, categorical, datetime };
std::string_view name_of(ColumnKind kind);

struct FeatureColumn {
  std::string name;
  ColumnKind kind = ColumnKind::numeric;
  // Not used for categorical columns. Dates are in days since 1970. A boolean's mean is its share of ones, and its
  // deviation is 1. Deviation 0: all values in training were equal, so only the indicator is an input.
  double mean = 0, deviation = 1;
  // Numbers and dates: how far the farthest value in training was from the mean, in deviations. Up to twice as far out a
  // value counts as it is; beyond, less and less, and none as more than four times as far: a network that follows a line
  // for a hundred deviations says nothing. 0: not known (models of format 11 and older), so every value counts as it is.
  double reach = 0;
  bool indicator = false;  // an extra column marks empty cells
  bool text = false;       // how the file's cells are read
  SlashDates dates = SlashDates::none;
  // Of a date: its inputs after the number and the mark. Empty in models of format 17 and older.
  std::vector<DatePart> parts = {};
  // Categorical: the values that have a column, the most frequent first; "" is the empty cell and comes last. Numbers
  // (text is false) as std::to_chars writes them: 3, not 3.0. Boolean: the words for 0 and for 1, in small letters; empty in
  // models of format 17 and older.
  std::vector<std::string> categories = {};
  // Categorical: other values were learnt too, and share the last column. So none is known to be new.
  bool others = false;
  // Categorical with many values: the effects on each target, or on each class; on the second one if there are two. Empty:
  // one input per value. `value_weights`: the rows of each category, by their weights.
  std::vector<double> value_weights = {};
  std::vector<Effects> effects = {};

  bool has_effects() const { return !effects.empty(); }
  std::size_t width() const;
  // Whether the first input is a number, or says true or false.
  bool has_number() const { return kind != ColumnKind::categorical && deviation != 0; }
  // That input in the unit of the column.
  double own(double encoded) const { return mean + deviation * encoded; }
  // "place in the year, month"; empty if there are none.
  std::string parts_text() const;
  // Writes the inputs of a number or a date, as the table has it; NaN is an empty cell.
  void encode(double value, double* out) const;
  // Writes the inputs of a category with effects, by its place; one beyond the last is any that training did not have.
  void encode_effects(std::size_t category, double* out) const;
  // The cells of the column of a table, of a number or a date, as encode() takes them.
  std::vector<double> numbers(const Column& column) const;
};

// A feature, and where its inputs begin in an encoded row.
struct Place {
  const FeatureColumn& feature;
  std::size_t first;
};

// number      any number
// classes     one of 2 to most_classes values, without an order
// amount      a positive number whose logarithm has a deviation of its own, such as a price
// count       a whole number from 0 on
// automatic   classes if the cells are text, or two different whole numbers in several rows each; a count if they are other
//             whole numbers from 0 on, some of them 0; otherwise a number. (Regressor::encoder_for may find an amount.)
enum class TargetKind { automatic, number, classes, amount, count };
std::string_view name_of(TargetKind kind);

inline constexpr std::size_t most_classes = 200;

struct TargetColumn {
  std::string name;
  double mean = 0, deviation = 1;  // of a number, the logarithm of an amount, or a count
  TargetKind kind = TargetKind::number;
  double largest = 0;  // of a count, in training
  // Classes: false before true, numbers by size, text in its natural order; with their rows in training. Numbers (text is
  // false) as std::to_chars writes them.
  std::vector<std::string> classes = {};
  std::vector<std::size_t> class_rows = {};
  bool text = false;        // how the file's cells are read
  std::string reason = {};  // for the kind, to show; empty: it was asked for, or is the usual one
  Bounds bounds = {};       // of a number: where its values lie

  // The value that is encoded as this number; of a class its place.
  double decoded(double encoded) const;
  // What -log density of an encoded value lacks, in the mean over the rows of training, to be that of the value.
  double log_unit() const;
};

// A column that was left out of the features without being dropped by the user, and the reason to show.
struct DroppedColumn {
  std::string name, reason;
};

struct EncoderOptions {
  std::vector<std::string> targets = {};   // at least one; a class or a count is the only one
  TargetKind kind = TargetKind::number;    // of the targets
  std::string weight = {};                 // column that says how much each row counts; empty: none
  std::vector<std::string> features = {};  // empty: every other column
  std::vector<std::string> drop = {};
  std::vector<std::string> categorical = {};  // even if they read as numbers
  std::size_t most_categories = 50;           // of one column; the rarest beyond share "other"
  bool effects = false;  // a column with more categories is learnt by their effects instead
  // Otherwise a column of whole numbers that are all different is left out if it counts the rows, or if its name says
  // that it is an id, unless no other feature is left.
  bool keep_ids = false;
  std::optional<Bounds> bounds = {};  // of numbers to predict; none: natural_bounds()
};

// A cell that training had none like, of an encoded row.
struct UnseenCell {
  std::size_t row, feature;
  bool empty;  // otherwise a value
};

// What is unlike training in the cells of one column, to be said.
struct UnseenCells {
  // value      was not there (a category, or neither true nor false)
  // empty      in a column that had no empty cell
  // spelling   as a known value but for the case of its letters or outer spaces: it counts as that one
  enum class What { value, empty, spelling };
  std::string column;
  What what;
  std::size_t cells = 0;
  // Of the first: what stands there, as what it counts (spelling), and in which line or row.
  std::string example = {}, known = {}, place = {};
};
std::string_view name_of(UnseenCells::What what);
// Adds those of later rows.
void add(const std::vector<UnseenCells>& more, std::vector<UnseenCells>& all);

// Rows ready for a network: row-major, standardised.
struct EncodedRows {
  std::size_t rows = 0;
  std::vector<double> inputs = {}, targets = {};
  std::vector<std::uint64_t> hashes = {};    // of the row's features and targets as in the table
  std::vector<std::size_t> table_rows = {};  // where each came from
  std::size_t without_target = 0;            // rows left out because a target is empty
  std::size_t without_weight = 0;            // and others because their weight is 0
  std::vector<double> weights = {};          // empty: each counts once
  // How many rows of the table each stands for, if copies were put together; empty: one.
  std::vector<std::size_t> copies = {};
  std::size_t pulled_in = 0;  // values too far out to count as they are: FeatureColumn::reach
  std::vector<UnseenCell> unseen = {};   // row by row
  std::vector<UnseenCells> unlike = {};  // the same, counted, and other spellings
};

// What to do with the column of weights.
enum class UseWeights {
  needed,
  if_there,
  ignored,  // every row counts once, whatever stands there
};

struct Encoder {
  // Features are in the natural order of their names (c2 before c10), whatever the order in the table or the options: a
  // model must not depend on a column's position. A model that was read keeps the order it was made with.
  std::vector<FeatureColumn> features;
  std::vector<TargetColumn> targets;
  std::vector<DroppedColumn> dropped;
  std::string weight = {};     // column of the rows' weights; empty: none
  bool decimal_comma = false;  // numbers of the file had one

  // Finds the kinds and scales from the rows where no target is empty and no weight is 0. Means, deviations and which
  // categories are the most frequent are weighted. Throws DataError if a named column is missing, a cell is no weight, a target is constant or not of the kind asked for, fewer than two rows have a target, the order of day and month is
  // unclear, or no feature is left.
  static Encoder fit(const Table& table, const EncoderOptions& options);

  std::size_t width() const;  // encoded inputs
  std::vector<Place> places() const;
  // Whether the target is a class, which is then the only one.
  bool has_classes() const { return targets.front().kind == TargetKind::classes; }
  bool has_counts() const { return targets.front().kind == TargetKind::count; }
  std::vector<std::string> input_names() const;  // x, x is empty, color = red, color = (other)
  // Columns to read from a file for this encoder.
  std::vector<WantedColumn> wanted(bool with_targets, UseWeights use = UseWeights::needed) const;

  // Throws DataError if a column is missing or holds a cell that cannot be encoded (naming line, column, value).
  // Hashes depend on the encoder's columns, not on their order in the table or on its other columns.
  // With targets, weights and hashes; rows without a target or without weight are left out. The table's own weights come
  // before those of a column.
  EncodedRows encode(const Table& table, UseWeights use = UseWeights::needed) const;
  // The same, with the place of its category as the first input of a column with effects, and 0 as the others; for rows
  // from which the effects are still to be learnt.
  EncodedRows encode_values(const Table& table, UseWeights use = UseWeights::needed) const;
  // Puts the effects in, so that encode_values() becomes encode().
  void put_effects(std::vector<double>& inputs) const;
  bool has_effects() const;
  EncodedRows encode_inputs(const Table& table) const;  // inputs only, every row
};

// Encoder::fit for a table that comes in pieces. The encoder does not depend, to the bit, on how the rows are divided,
// and errors are those of the whole table. Memory grows only with the number of columns: in a text column with more
// than 65,536 distinct values (or 4 MB of them) the most frequent are found as described in src/data/value_counts.h.
class EncoderBuilder {
 public:
  explicit EncoderBuilder(EncoderOptions options);
  ~EncoderBuilder();
  EncoderBuilder(EncoderBuilder&&) noexcept;
  EncoderBuilder& operator=(EncoderBuilder&&) noexcept;

  // Every piece must have the same columns. A column without numbers so far may become text.
  void add(const Table& piece);
  Encoder finish() const;

  std::size_t rows() const;
  std::size_t rows_with_target() const;     // and a weight, if there are weights
  std::size_t rows_without_weight() const;  // of those with a target

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace dma
