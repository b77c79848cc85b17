#include "data/evidence.h"

#include <limits>
#include <vector>

#include <dma/data/csv.h>

#include "data/datetime.h"

namespace dma::csv {
namespace {

// How often each code occurs, and the row of the first.
struct CodeCount {
  std::size_t count = 0, first_row = 0;
};

std::vector<CodeCount> count_codes(const Column& column) {
  std::vector<CodeCount> counts(column.values.size());
  for (std::size_t row = 0; row < column.codes.size(); ++row) {
    const std::uint32_t code = column.codes[row];
    if (code == Column::empty_cell) continue;
    if (counts[code].count++ == 0) counts[code].first_row = row;
  }
  return counts;
}

}  // namespace

bool Evidence::Count::enough() const { return are_strays(strays, fit); }

bool Evidence::is_mixed() const {
  return point.needed.count > 0 && comma.needed.count > 0 &&
         are_strays(no_numbers, point.fit + comma.needed.count);
}

bool is_date(std::string_view text) {
  const auto has_order = [text](SlashDates order) {
    return parse_datetime(text, order).has_value();
  };
  return has_order(SlashDates::month_first) || has_order(SlashDates::day_first);
}

// Values come in the order of their first appearance, so the first of each kind is the first in the table.
void weigh(const Table& table, const Column& column, Evidence& evidence) {
  const std::vector<CodeCount> counts = count_codes(column);
  for (std::size_t code = 0; code < counts.size(); ++code) {
    const std::size_t count = counts[code].count;
    if (count == 0) continue;
    const std::size_t line = table.line(counts[code].first_row);
    const std::string_view text = trimmed(column.values[code]);
    double value = 0;
    const Reading point = read_number(text, value);
    const Reading comma = read_number(text, value, true);
    const auto take = [&](Evidence::Count& own, Reading reading, Reading other) {
      if (reading == Reading::empty_number) return;
      if (reading == Reading::text) {
        own.strays += count;
        own.stray.add(line, column.values[code], 0);
        return;
      }
      own.fit += count;
      if (other == Reading::text) own.needed.add(line, column.values[code], value);
    };
    if (point == Reading::text && comma == Reading::text) evidence.no_numbers += count;
    take(evidence.point, point, comma);
    take(evidence.comma, comma, point);
    const bool date = is_date(text);
    (date ? evidence.dates.fit : evidence.dates.strays) += count;
    if (!date) evidence.dates.stray.add(line, column.values[code], 0);
  }
}

std::optional<Refused> make_numbers(const Table& table, bool decimal_comma, Column& column) {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> meaning(column.values.size());
  std::vector<Reading> readings(column.values.size());
  for (std::size_t code = 0; code < meaning.size(); ++code) {
    readings[code] = read_number(trimmed(column.values[code]), meaning[code], decimal_comma);
    if (!is_some_number(readings[code])) meaning[code] = nothing;
  }
  std::optional<Refused> refused;
  column.numbers.reserve(column.codes.size());
  for (std::size_t row = 0; row < column.codes.size(); ++row) {
    const std::uint32_t code = column.codes[row];
    const bool empty = code == Column::empty_cell;
    column.numbers.push_back(empty ? nothing : meaning[code]);
    if (empty) continue;
    const std::string& text = column.values[code];
    const Reading reading = readings[code];
    if (reading == Reading::marked) column.marked.add(table.line(row), text, meaning[code]);
    if (reading == Reading::text) column.stray.add(table.line(row), text, 0);
    const bool is_refused = reading == Reading::infinite || reading == Reading::too_large;
    if (is_refused && !refused) refused = {reading, row, text};
  }
  column.codes = {};
  column.values = {};
  column.is_text = false;
  return refused;
}

void take_stray_dates(const Table& table, Column& column) {
  std::vector<bool> strays;
  for (const std::string& value : column.values) strays.push_back(!is_date(trimmed(value)));
  for (std::size_t row = 0; row < column.codes.size(); ++row) {
    std::uint32_t& code = column.codes[row];
    if (code == Column::empty_cell || !strays[code]) continue;
    column.stray.add(table.line(row), column.values[code], 0);
    code = Column::empty_cell;
  }
}

std::string complaint(Reading reading) {
  if (reading == Reading::infinite) {
    return " is not finite; leave the cell empty if the number is unknown";
  }
  if (reading == Reading::too_large) return " is larger than 1e300; rescale the column";
  return " is not a number";
}

std::string stray_complaint(const Evidence::Count& found, std::string_view kind) {
  return " is not a " + std::string(kind) + ", but " + std::to_string(found.fit) + " of " +
         std::to_string(found.fit + found.strays) + " cells are; correct it";
}

}  // namespace dma::csv
