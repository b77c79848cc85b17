#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "data/cells.h"
#include "data/date_parts.h"
#include "data/datetime.h"
#include "data/digit.h"
#include "data/ids.h"
#include "data/scale.h"
#include "data/value_counts.h"

namespace dma {
namespace {

// Smallest deviation of a target: noise and intervals are small fractions of it and must be representable too.
constexpr double least_deviation = 1e-300;

// ------------------------------------------------------------------------------------- named columns

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void refuse_common(const Table& table, const std::vector<std::string>& one,
                   const std::vector<std::string>& two, const std::string& what) {
  for (const std::string& name : one) {
    if (contains(two, name)) throw error_in(table, column_of(table, name), what);
  }
}

void refuse_repeated(const Table& table, const std::vector<std::string>& names,
                     const std::string& what) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name) {
      throw error_in(table, column_of(table, *name), what);
    }
  }
}

// The column of weights is nothing else.
void refuse_weight(const Table& table, const EncoderOptions& options) {
  const std::vector<std::string> weight{options.weight};
  column_of(table, options.weight);
  refuse_common(table, weight, options.targets, "both the weight and a target");
  refuse_common(table, weight, options.features, "both the weight and a feature");
  refuse_common(table, weight, options.drop, "both the weight and dropped");
  refuse_common(table, weight, options.categorical, "both the weight and categorical");
}

void validate(const Table& table, const EncoderOptions& options) {
  table.validate();
  for (const auto* names :
       {&options.targets, &options.features, &options.drop, &options.categorical}) {
    for (const std::string& name : *names) column_of(table, name);
  }
  if (options.targets.empty()) throw DataError(table.source + ": no target was given");
  if (!options.weight.empty()) refuse_weight(table, options);
  if (options.most_categories == 0) throw DataError("most_categories must be at least 1");
  refuse_repeated(table, options.targets, "named twice as a target");
  refuse_repeated(table, options.features, "named twice as a feature");
  refuse_common(table, options.targets, options.features, "both a target and a feature");
  refuse_common(table, options.targets, options.drop, "both a target and dropped");
  refuse_common(table, options.features, options.drop, "both a feature and dropped");
  refuse_common(table, options.targets, options.categorical,
                "both a target and categorical; a target that is a class has the kind class");
}

// Removes the leading digits from the text and returns them without leading zeros.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), csv::is_digit);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// Digits compare as numbers: c2 before c10.
bool natural_order(std::string_view one, std::string_view two) {
  std::string_view a = one;
  std::string_view b = two;
  while (!a.empty() && !b.empty()) {
    if (csv::is_digit(a.front()) && csv::is_digit(b.front())) {
      const std::string_view x = take_digits(a);
      const std::string_view y = take_digits(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a.front() != b.front()) return a.substr(0, 1) < b.substr(0, 1);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && b.empty() ? one < two : a.empty();
}

// Sorted by name: a network's first weights are drawn input by input, and must not depend on a column's position in the
// file.
std::vector<std::string> feature_names(const Table& table, const EncoderOptions& options) {
  std::vector<std::string> names = options.features;
  for (const Column& column : table.columns) {
    if (!options.features.empty()) break;
    if (!contains(options.targets, column.name) && !contains(options.drop, column.name) &&
        column.name != options.weight) {
      names.push_back(column.name);
    }
  }
  std::sort(names.begin(), names.end(), natural_order);
  return names;
}
// ------------------------------------------------------------------------------- what a column has shown

// What is known so far about a column of numbers.
struct Numbers {
  ScaleBuilder scale = {};
  std::string first = {};  // that is not empty, as it stands there
  bool any_empty = false;
  std::optional<DataError> error = {};  // the first
};

// Sets an error if a cell is text, infinite or too large for the scales. It is not thrown at once, because an error in
// another column may have to be reported first.
void take_numbers(const Table& piece, const Cells& cells, const CountedRows& counted,
                  const std::string& expected, Numbers& known) {
  for (const std::size_t row : counted.rows) {
    const double x = number_at(cells, row);
    if (std::abs(x) <= 1e300) {
      if (known.scale.count() == 0) known.first = as_text(*cells.column, row);
      known.scale.add(x, counted.weight(row));
    } else if (x != x) {
      known.any_empty = true;
    } else if (!known.error) {
      const bool is_text = cells.codes != nullptr && x == unreadable;
      known.error =
          error_at(piece, *cells.column, row, is_text ? expected : "is larger than 1e300");
    }
  }
}

// Whether the values are a word for true, a word for false, or both.
struct Booleans {
  bool possible = true;
  std::array<std::string, 2> words = {};
  ScaleBuilder scale = {};
};

double take_boolean(const std::string& value, Booleans& known) {
  const double meaning = read_boolean(value);
  known.possible = known.possible && meaning != unreadable;
  if (!known.possible) return nothing;
  std::string& word = known.words[static_cast<std::size_t>(meaning)];
  if (word.empty()) word = lower(value);
  known.possible = word == lower(value);
  return meaning;
}

// Which orders of day and month the values allow, and the scale for each.
struct Dates {
  bool month_first = true, day_first = true;
  ScaleBuilder by_month = {}, by_day = {};
  SeenParts parts_by_month = {}, parts_by_day = {};
  std::optional<DataError> unclear = {};  // of the first cell that the order matters to

  bool possible() const { return month_first || day_first; }
};

// The meaning of a text of a piece, and where it is counted.
struct Meaning {
  std::size_t generation = std::numeric_limits<std::size_t>::max();
  std::size_t place = 0;
  double boolean = nothing, by_month = nothing, by_day = nothing;
};

void take_date(const Table& piece, const Column& column, std::size_t row, Dates& known,
               Meaning& meaning) {
  const std::string& value = column.values[column.codes[row]];
  if (const auto date = parse_datetime(value, SlashDates::none)) {
    meaning.by_month = meaning.by_day = *date;
    known.parts_by_month.add(*date);
    known.parts_by_day.add(*date);
    return;
  }
  const auto by_month = parse_datetime(value, SlashDates::month_first);
  const auto by_day = parse_datetime(value, SlashDates::day_first);
  known.month_first = known.month_first && by_month;
  known.day_first = known.day_first && by_day;
  meaning.by_month = by_month.value_or(nothing);
  meaning.by_day = by_day.value_or(nothing);
  if (by_month) known.parts_by_month.add(*by_month);
  if (by_day) known.parts_by_day.add(*by_day);
  if (known.unclear || !known.possible()) return;
  known.unclear =
      error_at(piece, column, row,
               "may be day/month or month/day, and no date in the column shows which; write dates "
               "as YYYY-MM-DD, drop the column, or declare it categorical");
}

// What is known so far about a text column.
struct Texts {
  ValueCounts counts = ValueCounts();
  std::size_t filled = 0, empty = 0;
  std::string first = {};  // that is not empty
  Booleans booleans = {};
  Dates dates = {};
};

Meaning meaning_of(const Table& piece, const Column& column, std::size_t row, Texts& known) {
  Meaning meaning;
  const std::string& value = column.values[column.codes[row]];
  meaning.place = known.counts.place(value);
  meaning.generation = known.counts.generation();
  if (known.booleans.possible) meaning.boolean = take_boolean(value, known.booleans);
  if (known.dates.possible()) take_date(piece, column, row, known.dates, meaning);
  return meaning;
}

void take_texts(const Table& piece, const Column& column, const CountedRows& counted,
                Texts& known) {
  std::vector<Meaning> meanings(column.values.size());
  for (const std::size_t row : counted.rows) {
    const double weight = counted.weight(row);
    const std::uint32_t code = column.codes[row];
    if (code == Column::empty_cell || column.values[code].empty()) {
      ++known.empty;
      continue;
    }
    if (known.filled++ == 0) known.first = as_text(column, row);
    Meaning& meaning = meanings[code];
    if (meaning.generation != known.counts.generation()) {
      meaning = meaning_of(piece, column, row, known);
    }
    known.counts.count(meaning.place, weight);
    if (known.booleans.possible) known.booleans.scale.add(meaning.boolean, weight);
    if (known.dates.month_first) known.dates.by_month.add(meaning.by_month, weight);
    if (known.dates.day_first) known.dates.by_day.add(meaning.by_day, weight);
  }
}

// What is known so far about a feature's column.
struct KnownColumn {
  std::string name;
  bool forced = false;  // to be categorical
  bool is_text = false;
  std::size_t rows = 0;
  Numbers numbers = {};
  Texts texts = {};
  IdEvidence id;
};

// A column of a CSV file may be empty in the first pieces, as if it held numbers, and hold text later.
void accept_type(const Table& piece, const Column& column, KnownColumn& known) {
  if (column.is_text == known.is_text) return;
  const bool was_empty = known.numbers.scale.count() + known.texts.filled == 0;
  if (known.is_text || !was_empty || known.numbers.error) {
    throw error_in(piece, column, "is text in one piece of the table and numbers in another");
  }
  known.is_text = true;
  known.texts.empty = known.rows;
}

void take_feature(const Table& piece, const Column& column, const CountedRows& counted,
                  KnownColumn& known) {
  accept_type(piece, column, known);
  known.rows += counted.rows.size();
  if (column.is_text) return take_texts(piece, column, counted, known.texts);
  if (known.forced) return take_texts(piece, as_text(column), counted, known.texts);
  const FeatureColumn feature{.name = known.name, .kind = ColumnKind::numeric};
  take_numbers(piece, cells_of(column, feature), counted, expectation(feature.kind), known.numbers);
  for (const std::size_t row : counted.rows) known.id.add(column.numbers[row]);
}

// What is known so far about a target's column.
struct KnownTarget {
  KnownColumn column;    // its texts
  Numbers numbers = {};  // of the cells that read as numbers
  struct Count {
    std::size_t rows = 0;
    double weight = 0;
  };
  std::map<double, Count> rows_of_numbers =
      {};                  // of the first that differ, one more than there may be classes
  ScaleBuilder logs = {};  // of the positive ones
  std::optional<DataError> no_amount = {};  // the first cell that is none
  std::optional<DataError> no_count = {};
  bool any_zero = false;
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
};

// What its cells are, if each is a number.
void take_amounts_and_counts(const Table& piece, const Cells& cells, const CountedRows& counted,
                             KnownTarget& known) {
  for (const std::size_t row : counted.rows) {
    const double x = number_at(cells, row);
    if (!(std::abs(x) <= 1e300)) continue;  // an error anyway
    if (x > 0) {
      known.logs.add(std::log(x), counted.weight(row));
    } else if (!known.no_amount) {
      known.no_amount = error_at(piece, *cells.column, row, amount_expectation);
    }
    if (!is_count(x) && !known.no_count) {
      known.no_count = error_at(piece, *cells.column, row, count_expectation);
    }
    known.any_zero = known.any_zero || x == 0;
    known.smallest = std::min(known.smallest, x);
    known.largest = std::max(known.largest, x);
  }
}

// The cells are read as numbers.
void take_target(const Table& piece, const Cells& cells, const CountedRows& counted,
                 KnownTarget& known) {
  const Column& column = *cells.column;
  accept_type(piece, column, known.column);
  known.column.rows += counted.rows.size();
  take_numbers(piece, cells, counted, target_expectation, known.numbers);
  take_amounts_and_counts(piece, cells, counted, known);
  if (column.is_text) return take_texts(piece, column, counted, known.column.texts);
  for (const std::size_t row : counted.rows) {
    const double x = column.numbers[row] + 0.0;  // -0 is 0
    if (known.rows_of_numbers.size() > most_classes && !known.rows_of_numbers.contains(x)) continue;
    KnownTarget::Count& count = known.rows_of_numbers[x];
    ++count.rows;
    count.weight += counted.weight(row);
  }
}

// A feature, or the reason why it is left out.
struct Fitted {
  FeatureColumn feature = {};
  std::string dropped = {};
};

// A text column with so many different values, in more than half of its rows, holds names.
constexpr std::size_t fewest_names = 10;

std::string constant(const std::string& value) { return "constant: " + value; }

Fitted fit_numbers(FeatureColumn feature, const ScaleBuilder& numbers, bool any_empty,
                   const std::string& first) {
  const Scale scale = numbers.finish();
  feature.indicator = any_empty;
  feature.mean = scale.mean;
  feature.deviation = scale.deviation;
  if (scale.deviation > 0) {
    if (feature.kind == ColumnKind::boolean) {
      feature.deviation = 1;
    } else {
      feature.reach = scale.reach;
    }
    return {std::move(feature)};
  }
  if (numbers.count() == 0) return {.dropped = "empty"};
  if (!any_empty) return {.dropped = constant(first)};
  return {std::move(feature)};
}

// As many as are counted exactly (value_counts.h).
constexpr std::size_t most_effects = 65'536;

// Nothing is known of them yet.
void expect_effects(std::size_t count, FeatureColumn& feature) {
  feature.value_weights.assign(feature.categories.size(), 0);
  feature.effects.assign(count, {.sums = feature.value_weights});
}

// `effects`: on each target, or on each class.
Fitted fit_categories(FeatureColumn feature, const KnownColumn& known, std::size_t effects,
                      const EncoderOptions& options) {
  feature.kind = ColumnKind::categorical;
  const Texts& texts = known.texts;
  const std::size_t distinct = texts.counts.distinct();
  if (!known.forced && distinct >= fewest_names && 2 * distinct > texts.filled) {
    return {.dropped =
                "text that differs in almost every row, like a name or an id; "
                "declare it categorical to keep it"};
  }
  const bool has_effects = options.effects && distinct > options.most_categories;
  feature.categories =
      texts.counts.most_frequent(has_effects ? most_effects : options.most_categories);
  feature.others = distinct > feature.categories.size();
  if (texts.empty > 0) feature.categories.emplace_back();
  if (has_effects) expect_effects(effects, feature);
  return {std::move(feature)};
}

Fitted fit_dates(FeatureColumn feature, const Texts& texts) {
  const Dates& dates = texts.dates;
  feature.kind = ColumnKind::datetime;
  if (dates.unclear && dates.month_first && dates.day_first) throw DataError(*dates.unclear);
  if (dates.unclear) {
    feature.dates = dates.month_first ? SlashDates::month_first : SlashDates::day_first;
  }
  const ScaleBuilder& scale = dates.month_first ? dates.by_month : dates.by_day;
  const SeenParts& parts = dates.month_first ? dates.parts_by_month : dates.parts_by_day;
  feature.parts = parts.that_differ();
  return fit_numbers(std::move(feature), scale, texts.empty > 0, texts.first);
}

Fitted fit_feature(const KnownColumn& known, std::size_t effects, const EncoderOptions& options) {
  FeatureColumn feature{.name = known.name, .text = known.is_text};
  if (!known.is_text && !known.forced) {
    if (known.numbers.error) throw DataError(*known.numbers.error);
    return fit_numbers(std::move(feature), known.numbers.scale, known.numbers.any_empty,
                       known.numbers.first);
  }
  const Texts& texts = known.texts;
  if (texts.filled == 0) return {.dropped = "empty"};
  if (texts.counts.distinct() == 1 && texts.empty == 0) return {.dropped = constant(texts.first)};
  if (known.forced) return fit_categories(std::move(feature), known, effects, options);
  if (texts.booleans.possible) {
    feature.kind = ColumnKind::boolean;
    const auto& [no, yes] = texts.booleans.words;
    if (!no.empty() && !yes.empty()) feature.categories = {no, yes};
    return fit_numbers(std::move(feature), texts.booleans.scale, texts.empty > 0, texts.first);
  }
  if (texts.dates.possible()) return fit_dates(std::move(feature), texts);
  return fit_categories(std::move(feature), known, effects, options);
}

// One effect tells two classes apart.
std::size_t effect_count(const std::vector<TargetColumn>& targets) {
  const std::size_t classes = targets.front().classes.size();
  if (targets.front().kind != TargetKind::classes) return targets.size();
  return classes == 2 ? 1 : classes;
}

DataError no_feature(const std::string& source, const std::vector<DroppedColumn>& dropped) {
  std::string reasons;
  for (const DroppedColumn& column : dropped) {
    reasons += (reasons.empty() ? ": '" : ", '") + column.name + "' (" + column.reason + ")";
  }
  return DataError(source + ": no feature is left" + reasons);
}

}  // namespace

namespace {

// A kind, and why.
struct Decided {
  TargetKind kind;
  std::string reason = {};
};

// A column with a few texts among its numbers is one of numbers with mistakes.
Decided decide(const KnownTarget& target, const EncoderOptions& options) {
  if (options.kind != TargetKind::automatic) return {options.kind};
  const bool mostly_numbers = 2 * target.numbers.scale.count() >= target.column.rows;
  if (target.column.is_text && !mostly_numbers) return {TargetKind::classes, "text"};
  if (target.column.is_text || target.numbers.error || options.targets.size() > 1) {
    return {TargetKind::number};
  }
  const auto& numbers = target.rows_of_numbers;
  const bool two =
      numbers.size() == 2 && std::all_of(numbers.begin(), numbers.end(), [](const auto& one) {
        return one.first == std::floor(one.first) && one.second.weight > 1;
      });
  if (two) return {TargetKind::classes, "two different whole numbers"};
  if (numbers.size() > 2 && target.any_zero && !target.no_count) {
    return {TargetKind::count, "whole numbers from 0 on"};
  }
  return {TargetKind::number};
}

void put_texts(const Texts& texts, TargetColumn& column) {
  column.classes = texts.counts.most_frequent(most_classes);
  const auto comes_before = [&](const std::string& one, const std::string& two) {
    if (texts.booleans.possible) return read_boolean(one) < read_boolean(two);
    return natural_order(one, two);
  };
  std::sort(column.classes.begin(), column.classes.end(), comes_before);
  for (const std::string& name : column.classes) {
    column.class_rows.push_back(texts.counts.rows_of(name));
  }
}

void put_numbers(const KnownTarget& target, TargetColumn& column) {
  if (target.numbers.error) throw DataError(*target.numbers.error);
  for (const auto& [number, count] : target.rows_of_numbers) {
    column.classes.push_back(as_text(number));
    column.class_rows.push_back(count.rows);
  }
}

}  // namespace

class EncoderBuilder::State {
 public:
  explicit State(EncoderOptions options) : options_(std::move(options)) {}

  void add(const Table& piece) {
    if (!begun_) begin(piece);
    piece.validate();
    std::vector<Cells> targets;
    for (const std::string& name : options_.targets) {
      targets.push_back(target_cells(piece, {.name = name}));
    }
    const CountedRows counted =
        counted_rows(targets, weights_of(piece, options_.weight), piece.rows());
    rows_ += piece.rows();
    rows_with_target_ += counted.rows.size();
    rows_without_weight_ += counted.without_weight;
    for (std::size_t k = 0; k < targets.size(); ++k) {
      take_target(piece, targets[k], counted, targets_[k]);
    }
    for (KnownColumn& known : features_) {
      take_feature(piece, column_of(piece, known.name), counted, known);
    }
  }

  Encoder finish() const {
    if (rows_with_target_ < 2) {
      throw DataError(source_ + ": " + std::to_string(rows_with_target_) + " of " +
                      std::to_string(rows_) + " rows have a target" +
                      (rows_without_weight_ > 0 ? " and a weight above 0" : "") +
                      "; at least two are needed");
    }
    Encoder encoder;
    encoder.weight = options_.weight;
    for (const KnownTarget& target : targets_) encoder.targets.push_back(fit_target(target));
    encoder.decimal_comma = decimal_comma_;
    const std::string named = options_.features.empty() ? "" : "named, but ";
    std::vector<Fitted> all;
    for (const KnownColumn& known : features_) {
      all.push_back(fit_feature(known, effect_count(encoder.targets), options_));
    }
    leave_ids_out(all);
    for (std::size_t k = 0; k < all.size(); ++k) {
      const KnownColumn& known = features_[k];
      Fitted& fitted = all[k];
      if (fitted.dropped.empty()) {
        encoder.features.push_back(std::move(fitted.feature));
      } else {
        encoder.dropped.push_back({known.name, named + fitted.dropped});
      }
    }
    if (encoder.features.empty()) throw no_feature(source_, encoder.dropped);
    return encoder;
  }

  std::size_t rows() const { return rows_; }
  std::size_t rows_with_target() const { return rows_with_target_; }
  std::size_t rows_without_weight() const { return rows_without_weight_; }

 private:
  void begin(const Table& piece) {
    validate(piece, options_);
    source_ = piece.source;
    decimal_comma_ = piece.decimal_comma;
    for (const std::string& name : options_.targets) {
      targets_.push_back({.column = {.name = name, .id = IdEvidence(name)}});
    }
    for (const std::string& name : feature_names(piece, options_)) {
      features_.push_back(
          {.name = name, .forced = contains(options_.categorical, name), .id = IdEvidence(name)});
    }
    begun_ = true;
  }

  // Unless no other feature is left.
  void leave_ids_out(std::vector<Fitted>& all) const {
    if (options_.keep_ids) return;
    const auto is_id = [&](std::size_t k) {
      const KnownColumn& known = features_[k];
      return !known.is_text && !known.forced && known.id.is_id();
    };
    bool other_left = false;
    for (std::size_t k = 0; k < all.size(); ++k) {
      other_left = other_left || (all[k].dropped.empty() && !is_id(k));
    }
    for (std::size_t k = 0; k < all.size() && other_left; ++k) {
      if (!all[k].dropped.empty() || !is_id(k)) continue;
      all[k].dropped =
          "an id: another whole number in every row; the option keep-ids keeps such columns";
    }
  }

  TargetColumn fit_target(const KnownTarget& target) const {
    Decided decided = decide(target, options_);
    TargetColumn column = decided.kind == TargetKind::classes ? fit_classes(target)
                                                              : fit_number(target, decided.kind);
    column.reason = std::move(decided.reason);
    if (options_.bounds && options_.bounds->any() && column.kind != TargetKind::number) {
      throw DataError(in_column(column.name) +
                      "bounds can only be given for a number, and this is "
                      "a target of the kind " +
                      std::string(name_of(column.kind)));
    }
    return column;
  }

  TargetColumn fit_number(const KnownTarget& target, TargetKind kind) const {
    const std::string& name = target.column.name;
    if (target.numbers.error) throw DataError(*target.numbers.error);
    if (kind == TargetKind::amount && target.no_amount) throw DataError(*target.no_amount);
    if (kind == TargetKind::count && target.no_count) throw DataError(*target.no_count);
    if (kind == TargetKind::count) require_only(name, "count");
    const Scale own = target.numbers.scale.finish();
    if (own.deviation == 0) throw nothing_to_learn(name, as_text(own.mean));
    const Scale scale = kind == TargetKind::amount ? target.logs.finish() : own;
    if (scale.deviation < least_deviation) {
      throw DataError(in_column(name) + "the target's standard deviation is " +
                      as_text(scale.deviation) + ", too small to compute with; use a smaller unit");
    }
    TargetColumn column{
        .name = name, .mean = scale.mean, .deviation = scale.deviation, .kind = kind};
    if (kind == TargetKind::count) column.largest = target.largest;
    if (kind == TargetKind::number) column.bounds = bounds_of(target, own.deviation);
    return column;
  }

  Bounds bounds_of(const KnownTarget& target, double deviation) const {
    if (options_.bounds) return *options_.bounds;
    return natural_bounds(target.smallest, target.largest, deviation);
  }

  void require_only(const std::string& name, const std::string& kind) const {
    if (options_.targets.size() == 1) return;
    throw DataError(in_column(name) + "the target is a " + kind + ", and a " + kind +
                    " must be the only target");
  }

  TargetColumn fit_classes(const KnownTarget& target) const {
    TargetColumn column{
        .name = target.column.name, .kind = TargetKind::classes, .text = target.column.is_text};
    require_only(column.name, "class");
    const std::size_t different =
        column.text ? target.column.texts.counts.distinct() : target.rows_of_numbers.size();
    if (different > most_classes) {
      const std::string count =
          column.text ? std::to_string(different) + " different texts"
                      : "more than " + std::to_string(most_classes) + " different numbers";
      throw DataError(in_column(column.name) + "the target has " + count + ", and there can be " +
                      std::to_string(most_classes) + " classes at most; " +
                      (column.text ? "put rare ones together, or choose another target"
                                   : "use the kind number"));
    }
    column.text ? put_texts(target.column.texts, column) : put_numbers(target, column);
    if (different < 2) throw nothing_to_learn(column.name, column.classes.front());
    return column;
  }

  DataError nothing_to_learn(const std::string& name, const std::string& value) const {
    return DataError(in_column(name) + "the target is " + as_text(value) +
                     " in every row: there is nothing to learn");
  }
  std::string in_column(const std::string& name) const {
    return source_ + ", column '" + name + "': ";
  }

  EncoderOptions options_;
  bool begun_ = false;
  bool decimal_comma_ = false;
  std::string source_ = Table().source;
  std::size_t rows_ = 0, rows_with_target_ = 0, rows_without_weight_ = 0;
  std::vector<KnownTarget> targets_;
  std::vector<KnownColumn> features_;
};

EncoderBuilder::EncoderBuilder(EncoderOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
EncoderBuilder::~EncoderBuilder() = default;
EncoderBuilder::EncoderBuilder(EncoderBuilder&&) noexcept = default;
EncoderBuilder& EncoderBuilder::operator=(EncoderBuilder&&) noexcept = default;

void EncoderBuilder::add(const Table& piece) { state_->add(piece); }
Encoder EncoderBuilder::finish() const { return state_->finish(); }
std::size_t EncoderBuilder::rows() const { return state_->rows(); }
std::size_t EncoderBuilder::rows_with_target() const { return state_->rows_with_target(); }
std::size_t EncoderBuilder::rows_without_weight() const { return state_->rows_without_weight(); }

Encoder Encoder::fit(const Table& table, const EncoderOptions& options) {
  EncoderBuilder builder(options);
  builder.add(table);
  return builder.finish();
}

}  // namespace dma
