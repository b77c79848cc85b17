#include <dma/data/encoder.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "data/cells.h"
#include "data/row_hash.h"

namespace dma {
namespace {

constexpr double largest = std::numeric_limits<double>::max();
// In deviations from the mean. Training rows lie within the root of their number. Beyond this limit not even the square
// fits into single precision, let alone the network's output.
constexpr double farthest = 1e15;

// Rows are encoded in blocks, column by column, so that a block of the row-major result stays in the
// cache while its columns are written.
struct Block {
  const Table* table;
  std::span<const std::size_t> rows;  // of the table
  double* out;                        // of the block's first row
  std::size_t stride;
};

std::size_t block_rows(std::size_t width) {
  constexpr std::size_t cache_numbers = 1 << 14;
  return std::clamp<std::size_t>(cache_numbers / std::max<std::size_t>(width, 1), 16, 1024);
}

// The rows' numbers: in place if the rows are consecutive, else copied to the buffer.
std::span<const double> numbers_in(const Cells& cells, std::span<const std::size_t> rows,
                                   std::vector<double>& buffer) {
  if (rows.empty()) return {};
  const bool together = rows.back() - rows.front() + 1 == rows.size();
  if (together && cells.numbers != nullptr) return {cells.numbers + rows.front(), rows.size()};
  buffer.resize(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) buffer[k] = number_at(cells, rows[k]);
  return buffer;
}

// Names the first cell of a block that cannot be encoded.
[[noreturn]] void report(const Block& block, const Cells& cells, const std::string& expected) {
  const auto too_large = [](double x) { return std::abs(x) > largest; };
  std::size_t k = 0;
  const auto too_far = [](double x) { return std::abs(x) > farthest; };
  while (!too_large(number_at(cells, block.rows[k])) && !too_far(block.out[k * block.stride])) ++k;
  const bool is_number = !too_large(number_at(cells, block.rows[k]));
  throw error_at(*block.table, *cells.column, block.rows[k],
                 is_number ? "is more than 1e15 standard deviations away from the training rows"
                 : cells.codes != nullptr ? expected
                                          : "is not finite");
}

// (x - shift) / unit, and `fill` where x is empty. False if a number is not finite or too far out.
bool standardise(std::span<const double> numbers, double shift, double unit, double fill,
                 double* out, std::size_t stride) {
  bool finite = true;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const double x = numbers[k];
    const double value = (x - shift) / unit;
    out[k * stride] = x != x ? fill : value;
    finite &= !(std::abs(value) > farthest);
  }
  return finite;
}

bool mark_empty(std::span<const double> numbers, double* out, std::size_t stride) {
  bool finite = true;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    out[k * stride] = numbers[k] != numbers[k] ? 1 : 0;
    finite &= !(std::abs(numbers[k]) > largest);
  }
  return finite;
}

// |z| up to limit = 2 reach; then limit (2 - limit / |z|), which goes on with the same slope and stays below 2 limit.
// Returns how many were.
std::size_t pull_in(double reach, std::size_t rows, double* values, std::size_t stride) {
  const double limit = 2 * reach;
  std::size_t count = 0;
  for (std::size_t k = 0; k < rows; ++k) {
    double& value = values[k * stride];
    if (!(std::abs(value) > limit)) continue;
    value = std::copysign(limit * (2 - limit / std::abs(value)), value);
    ++count;
  }
  return count;
}

// Empty cells keep the zeros that are there.
void encode_parts(const FeatureColumn& feature, std::span<const double> days, double* out,
                  std::size_t stride) {
  for (const DatePart part : feature.parts) {
    for (std::size_t k = 0; k < days.size(); ++k) {
      if (!std::isnan(days[k])) encode_part(part, days[k], out + k * stride);
    }
    out += width_of(part);
  }
}

// Returns how many values were pulled in.
std::size_t encode_numbers(const FeatureColumn& feature, const Cells& cells, const Block& block,
                           std::vector<double>& buffer) {
  const auto numbers = numbers_in(cells, block.rows, buffer);
  const bool boolean = feature.kind == ColumnKind::boolean;
  const double shift = boolean ? 0 : feature.mean;
  const double fill = boolean ? feature.mean : 0;
  double* out = block.out;
  bool finite = true;
  if (feature.deviation != 0) {
    finite = standardise(numbers, shift, feature.deviation, fill, out++, block.stride);
  }
  if (feature.indicator) finite = mark_empty(numbers, out++, block.stride) && finite;
  if (!finite) report(block, cells, expectation(feature.kind));
  encode_parts(feature, numbers, out, block.stride);
  if (feature.deviation == 0 || feature.reach == 0) return 0;
  return pull_in(feature.reach, numbers.size(), block.out, block.stride);
}

// With effects the first input is the place of the category, for now (Encoder::put_effects).
void encode_categories(const FeatureColumn& feature, const Cells& cells, const Block& block) {
  for (std::size_t k = 0; k < block.rows.size(); ++k) {
    const std::uint32_t code = cells.codes[block.rows[k]];
    const std::uint32_t slot = code == Column::empty_cell ? cells.empty_slot : cells.slots[code];
    double* own = block.out + k * block.stride;
    if (feature.has_effects()) {
      *own = slot;
    } else {
      own[slot] = 1;
    }
  }
}

// Notes which cells of a block are unlike those of training, and what they are.
class UnlikeTraining {
 public:
  UnlikeTraining(const Table& table, const FeatureColumn& feature, std::size_t place,
                 const Cells& cells)
      : table_(table), feature_(feature), place_(place), cells_(cells) {
    const auto& categories = feature.categories;
    const bool is_category = feature.kind == ColumnKind::categorical;
    empty_is_unseen_ = is_category
                           ? std::find(categories.begin(), categories.end(), "") == categories.end()
                           : !feature.indicator && feature.deviation != 0;
    const auto is_respelt = [](const std::string& known) { return !known.empty(); };
    any_value_ = std::find(cells.unseen.begin(), cells.unseen.end(), true) != cells.unseen.end() ||
                 std::any_of(cells.respelt.begin(), cells.respelt.end(), is_respelt);
  }

  // `first` is the number of the block's first row.
  void note(std::span<const std::size_t> rows, std::size_t first, EncodedRows& encoded) {
    if (!empty_is_unseen_ && !any_value_) return;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (is_empty(rows[k])) {
        if (!empty_is_unseen_) continue;
        list({first + k, place_, true}, encoded);
        count(UnseenCells::What::empty, rows[k], "");
        continue;
      }
      if (!any_value_) continue;
      const std::uint32_t code = cells_.codes[rows[k]];
      if (cells_.unseen[code]) {
        list({first + k, place_, false}, encoded);
        count(UnseenCells::What::value, rows[k], "");
      } else if (code < cells_.respelt.size() && !cells_.respelt[code].empty()) {
        count(UnseenCells::What::spelling, rows[k], cells_.respelt[code]);
      }
    }
  }

  void report(std::vector<UnseenCells>& all) const {
    for (const UnseenCells& one : counted_) {
      if (one.cells > 0) all.push_back(one);
    }
  }

 private:
  bool is_empty(std::size_t row) const {
    if (cells_.numbers != nullptr) return std::isnan(cells_.numbers[row]);
    const std::uint32_t code = cells_.codes[row];
    return code == Column::empty_cell || cells_.words[code] == empty_word;
  }
  void list(const UnseenCell& cell, EncodedRows& encoded) const {
    if (!feature_.has_effects()) encoded.unseen.push_back(cell);
  }
  void count(UnseenCells::What what, std::size_t row, const std::string& known) {
    UnseenCells& own = counted_[static_cast<std::size_t>(what)];
    if (own.cells++ > 0) return;
    own = {feature_.name, what, 1, as_text(*cells_.column, row), as_text(known), table_.place(row)};
  }

  const Table& table_;
  const FeatureColumn& feature_;
  std::size_t place_;
  const Cells& cells_;
  bool empty_is_unseen_ = false, any_value_ = false;
  std::array<UnseenCells, 3> counted_ = {};
};

void hash_cells(const Cells& cells, std::span<const std::size_t> rows, std::uint64_t* hashes,
                std::vector<double>& buffer) {
  if (cells.numbers != nullptr) {
    const auto numbers = numbers_in(cells, rows, buffer);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      hashes[k] = combine(hashes[k], word_of(numbers[k]));
    }
    return;
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::uint32_t code = cells.codes[rows[k]];
    hashes[k] = combine(hashes[k], code == Column::empty_cell ? empty_word : cells.words[code]);
  }
}

std::vector<Cells> feature_cells(const Encoder& encoder, const Table& table) {
  std::vector<Cells> cells;
  for (const FeatureColumn& feature : encoder.features) {
    cells.push_back(cells_of(column_of(table, feature.name), feature));
  }
  return cells;
}

void encode_features(const Encoder& encoder, const Table& table, const std::vector<Cells>& cells,
                     EncodedRows& encoded) {
  const std::size_t width = encoder.width();
  encoded.inputs.resize(encoded.rows * width);
  const std::size_t step = block_rows(width);
  std::vector<double> buffer;
  std::vector<UnlikeTraining> unlike;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    unlike.emplace_back(table, encoder.features[k], k, cells[k]);
  }
  for (std::size_t first = 0; first < encoded.rows; first += step) {
    const std::size_t rows = std::min(step, encoded.rows - first);
    Block block{&table, std::span(encoded.table_rows).subspan(first, rows),
                encoded.inputs.data() + first * width, width};
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const FeatureColumn& feature = encoder.features[k];
      if (feature.kind == ColumnKind::categorical) {
        encode_categories(feature, cells[k], block);
      } else {
        encoded.pulled_in += encode_numbers(feature, cells[k], block, buffer);
      }
      unlike[k].note(block.rows, first, encoded);
      if (!encoded.hashes.empty()) {
        hash_cells(cells[k], block.rows, encoded.hashes.data() + first, buffer);
      }
      block.out += feature.width();
    }
  }
  std::stable_sort(encoded.unseen.begin(), encoded.unseen.end(),
                   [](const UnseenCell& a, const UnseenCell& b) { return a.row < b.row; });
  for (const UnlikeTraining& one : unlike) one.report(encoded.unlike);
}

std::string expectation_of(const TargetColumn& target) {
  if (target.kind != TargetKind::classes) return target_expectation;
  constexpr std::size_t most = 10;
  std::string list;
  for (std::size_t k = 0; k < std::min(most, target.classes.size()); ++k) {
    list += (k == 0 ? "" : ", ") + as_text(target.classes[k]);
  }
  return "is not one of the classes of training: " + list +
         (target.classes.size() > most ? ", ..." : "") +
         "; leave the row out, or fit a model that knows it";
}

// Names the first cell that cannot be what the target is.
void require_kind(const TargetColumn& target, const Table& table, const Cells& cells,
                  std::span<const std::size_t> rows, std::span<const double> numbers) {
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (std::abs(numbers[k]) > largest) return;  // standardise() says so
    if (target.kind == TargetKind::amount && !(numbers[k] > 0)) {
      throw error_at(table, *cells.column, rows[k], amount_expectation);
    }
    const bool given = target.bounds.any() && !target.bounds.assumed;
    if (given && !target.bounds.contain(numbers[k])) {
      throw error_at(table, *cells.column, rows[k],
                     "is beyond the bounds that were given: --bounds " +
                         as_text(target.bounds.low) + "," + as_text(target.bounds.high));
    }
    if (target.kind == TargetKind::count && !is_count(numbers[k])) {
      throw error_at(table, *cells.column, rows[k], count_expectation);
    }
  }
}

std::vector<double> weights_in(const Encoder& encoder, const Table& table, UseWeights use) {
  if (use == UseWeights::ignored) return {};
  const bool there = use == UseWeights::needed || table.find(encoder.weight) != nullptr;
  return weights_of(table, there ? encoder.weight : "");
}

void encode_targets(const Encoder& encoder, const Table& table, const std::vector<Cells>& cells,
                    EncodedRows& encoded) {
  const std::size_t width = encoder.targets.size();
  encoded.targets.resize(encoded.rows * width);
  std::vector<double> buffer;
  for (std::size_t k = 0; k < width; ++k) {
    const TargetColumn& target = encoder.targets[k];
    const Block block{&table, encoded.table_rows, encoded.targets.data() + k, width};
    auto numbers = numbers_in(cells[k], block.rows, buffer);
    require_kind(target, table, cells[k], block.rows, numbers);
    std::vector<double> logs;
    if (target.kind == TargetKind::amount) {
      for (const double number : numbers) logs.push_back(std::log(number));
      numbers = logs;
    }
    const bool standardised =
        target.kind == TargetKind::number || target.kind == TargetKind::amount;
    if (!standardise(numbers, standardised ? target.mean : 0, standardised ? target.deviation : 1,
                     0, block.out, width)) {
      report(block, cells[k], expectation_of(target));
    }
    hash_cells(cells[k], block.rows, encoded.hashes.data(), buffer);
  }
}

}  // namespace

std::string_view name_of(ColumnKind kind) {
  constexpr std::array<std::string_view, 4> names{"numeric", "boolean", "categorical", "datetime"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(UnseenCells::What what) {
  constexpr std::array<std::string_view, 3> names{"value", "empty", "spelling"};
  return names[static_cast<std::size_t>(what)];
}

void add(const std::vector<UnseenCells>& more, std::vector<UnseenCells>& all) {
  for (const UnseenCells& one : more) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const UnseenCells& other) {
      return other.column == one.column && other.what == one.what;
    });
    if (known == all.end()) {
      all.push_back(one);
    } else {
      known->cells += one.cells;
    }
  }
}

std::string_view name_of(TargetKind kind) {
  constexpr std::array<std::string_view, 5> names{"auto", "number", "class", "amount", "count"};
  return names[static_cast<std::size_t>(kind)];
}

double TargetColumn::decoded(double encoded) const {
  if (kind == TargetKind::classes || kind == TargetKind::count) return encoded;
  const double value = mean + deviation * encoded;
  return kind == TargetKind::amount ? std::exp(value) : value;
}

double TargetColumn::log_unit() const {
  if (kind == TargetKind::classes || kind == TargetKind::count) return 0;
  return std::log(deviation) + (kind == TargetKind::amount ? mean : 0);
}

std::size_t FeatureColumn::width() const {
  if (has_effects()) return 2 * effects.size();
  if (kind == ColumnKind::categorical) return categories.size() + 1;
  std::size_t sum = (deviation != 0 ? 1 : 0) + (indicator ? 1 : 0);
  for (const DatePart part : parts) sum += width_of(part);
  return sum;
}

std::string FeatureColumn::parts_text() const {
  std::string text;
  for (const DatePart part : parts) {
    if (!text.empty()) text += ", ";
    text += name_of(part);
  }
  return text;
}

void FeatureColumn::encode(double value, double* out) const {
  std::fill_n(out, width(), 0.0);
  const Column column{.name = name, .numbers = {value}};
  const Table table;
  const std::size_t row = 0;
  const Cells cells{.column = &column, .numbers = column.numbers.data()};
  std::vector<double> buffer;
  encode_numbers(*this, cells, {&table, {&row, 1}, out, width()}, buffer);
}

std::vector<double> FeatureColumn::numbers(const Column& column) const {
  const Cells cells = cells_of(column, *this);
  std::vector<double> all;
  for (std::size_t row = 0; row < column.rows(); ++row) all.push_back(number_at(cells, row));
  return all;
}

void FeatureColumn::encode_effects(std::size_t category, double* out) const {
  const bool known = category < value_weights.size();
  for (const Effects& own : effects) {
    const Effect effect =
        effect_of(own, known ? value_weights[category] : 0, known ? own.sums[category] : 0);
    *out++ = effect.mean;
    *out++ = effect.deviation;
  }
}

bool Encoder::has_effects() const {
  return std::any_of(features.begin(), features.end(),
                     [](const FeatureColumn& feature) { return feature.has_effects(); });
}

std::size_t Encoder::width() const {
  std::size_t sum = 0;
  for (const FeatureColumn& feature : features) sum += feature.width();
  return sum;
}

std::vector<Place> Encoder::places() const {
  std::vector<Place> all;
  std::size_t first = 0;
  for (const FeatureColumn& feature : features) {
    all.push_back({feature, first});
    first += feature.width();
  }
  return all;
}

namespace {

// city: effect, city: doubt; of several targets or classes "city: effect on price".
void put_names_of_effects(const FeatureColumn& feature, const std::vector<TargetColumn>& targets,
                          std::vector<std::string>& names) {
  const std::vector<std::string>& classes = targets.front().classes;
  for (std::size_t k = 0; k < feature.effects.size(); ++k) {
    std::string on;
    if (feature.effects.size() > 1) {
      on = " on " + (classes.empty() ? targets[k].name : classes[k]);
    }
    names.push_back(feature.name + ": effect" + on);
    names.push_back(feature.name + ": doubt of the effect" + on);
  }
}

}  // namespace

std::vector<std::string> Encoder::input_names() const {
  std::vector<std::string> names;
  for (const FeatureColumn& feature : features) {
    if (feature.has_effects()) {
      put_names_of_effects(feature, targets, names);
      continue;
    }
    if (feature.kind == ColumnKind::categorical) {
      for (const std::string& category : feature.categories) {
        names.push_back(feature.name + " = " + (category.empty() ? "(empty)" : category));
      }
      names.push_back(feature.name + " = (other)");
      continue;
    }
    if (feature.deviation != 0) names.push_back(feature.name);
    if (feature.indicator) names.push_back(feature.name + " is empty");
    for (const DatePart part : feature.parts) {
      for (const std::string& input : dma::input_names(part)) {
        names.push_back(feature.name + ": " + input);
      }
    }
  }
  return names;
}

std::vector<WantedColumn> Encoder::wanted(bool with_targets, UseWeights use) const {
  const Decimal decimal = decimal_comma ? Decimal::comma : Decimal::point;
  std::vector<WantedColumn> columns;
  const auto want = [&](const std::string& name, bool text, bool optional = false) {
    columns.push_back({name, text ? CellType::text : CellType::number, optional, decimal});
  };
  for (const FeatureColumn& feature : features) {
    want(feature.name, feature.text);
    columns.back().dates = feature.kind == ColumnKind::datetime;
  }
  if (!with_targets) return columns;
  if (!weight.empty() && use != UseWeights::ignored) {
    want(weight, false, use == UseWeights::if_there);
  }
  for (const TargetColumn& target : targets) want(target.name, target.text);
  return columns;
}

void Encoder::put_effects(std::vector<double>& inputs) const {
  const std::size_t row_width = width();
  for (const auto& [feature, first] : places()) {
    for (std::size_t n = first; feature.has_effects() && n < inputs.size(); n += row_width) {
      feature.encode_effects(static_cast<std::size_t>(inputs[n]), inputs.data() + n);
    }
  }
}

EncodedRows Encoder::encode(const Table& table, UseWeights use) const {
  EncodedRows encoded = encode_values(table, use);
  put_effects(encoded.inputs);
  return encoded;
}

EncodedRows Encoder::encode_values(const Table& table, UseWeights use) const {
  table.validate();
  std::vector<Cells> target_columns;
  for (const TargetColumn& target : targets) {
    target_columns.push_back(target_cells(table, target));
  }
  const auto cells = feature_cells(*this, table);
  CountedRows counted = counted_rows(target_columns, weights_in(*this, table, use), table.rows());
  EncodedRows encoded{.table_rows = std::move(counted.rows)};
  encoded.rows = encoded.table_rows.size();
  encoded.without_target = counted.without_target;
  encoded.without_weight = counted.without_weight;
  if (!counted.weights.empty()) {
    for (const std::size_t row : encoded.table_rows) encoded.weights.push_back(counted.weight(row));
  }
  encoded.hashes.assign(encoded.rows, hash_start);
  encode_features(*this, table, cells, encoded);
  encode_targets(*this, table, target_columns, encoded);
  return encoded;
}

EncodedRows Encoder::encode_inputs(const Table& table) const {
  table.validate();
  EncodedRows encoded{.rows = table.rows()};
  encoded.table_rows.resize(encoded.rows);
  std::iota(encoded.table_rows.begin(), encoded.table_rows.end(), std::size_t{0});
  encode_features(*this, table, feature_cells(*this, table), encoded);
  put_effects(encoded.inputs);
  return encoded;
}

}  // namespace dma
