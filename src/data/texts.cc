#include <dma/data/texts.h>

#include <algorithm>

#include "data/cells.h"
#include "data/evidence.h"
#include "data/message.h"
#include "data/scan.h"

namespace dma {
namespace {

using csv::Evidence;
using csv::shown;

std::string place(const Table& table, std::size_t line, const Column& column) {
  return table.source + ", " + std::string(table.row_word) + " " + std::to_string(line) +
         ", column " + shown(column.name) + ": ";
}

std::string cell(const Table& table, const CellNote& note, const Column& column) {
  return place(table, note.line, column) + shown(note.value);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Words that say that a cell is empty, but for those that are known as values.
void empty_words(const std::vector<std::string>& known, Column& column) {
  std::vector<bool> empty;
  for (const std::string& value : column.values) {
    empty.push_back(csv::is_empty(csv::trimmed(value)) && !contains(known, value));
  }
  for (std::uint32_t& code : column.codes) {
    if (code != Column::empty_cell && empty[code]) code = Column::empty_cell;
  }
}

void make_numbers(const Table& table, bool decimal_comma, Column& column) {
  const auto refused = csv::make_numbers(table, decimal_comma, column);
  if (!refused) return;
  throw DataError(place(table, table.line(refused->row), column) + shown(refused->text) +
                  csv::complaint(refused->reading));
}

void refuse_strays(const Table& table, const Column& column, const Evidence::Count& found,
                   std::string_view kind, bool strict) {
  if (!strict || found.strays == 0) return;
  throw DataError(cell(table, found.stray, column) + csv::stray_complaint(found, kind) +
                  ", or do without strict");
}

void refuse_other_mark(const Table& table, const Column& column, const Evidence& evidence,
                       bool decimal_comma) {
  const CellNote& other = evidence.with(!decimal_comma).needed;
  if (other.count == 0) return;
  throw DataError(cell(table, other, column) +
                  (decimal_comma ? " has a decimal point, and the model's numbers have commas"
                                 : " has a decimal comma, and the model's numbers have points") +
                  "; convert the column to numbers");
}

struct Weighed {
  Column* column;
  Evidence evidence = {};
};

// Throws if some numbers need a comma and others a point.
bool finds_comma(const Table& table, const std::vector<Weighed>& all) {
  const auto need = [&](const auto& needs) { return std::find_if(all.begin(), all.end(), needs); };
  const auto mixed = need([](const Weighed& one) { return one.evidence.is_mixed(); });
  auto comma = need([](const Weighed& one) { return one.evidence.needs_comma(); });
  auto point = need([](const Weighed& one) { return one.evidence.needs_point(); });
  if (mixed != all.end()) comma = point = mixed;
  if (comma == all.end()) return false;
  if (point == all.end()) return true;
  const CellNote& other = point->evidence.point.needed;
  throw DataError(cell(table, comma->evidence.comma.needed, *comma->column) +
                  " has a decimal comma, but " + shown(other.value) + " in " +
                  std::string(table.row_word) + " " + std::to_string(other.line) + ", column " +
                  shown(point->column->name) + ", a decimal point; convert one of them");
}

}  // namespace

void read_texts(Table& table, const std::vector<std::string>& keep, bool strict) {
  std::vector<Weighed> all;
  for (Column& column : table.columns) {
    if (!column.is_text || contains(keep, column.name)) continue;
    empty_words({}, column);
    all.push_back({&column});
    csv::weigh(table, column, all.back().evidence);
  }
  table.decimal_comma = finds_comma(table, all);
  for (const Weighed& one : all) {
    const Evidence::Count& found = one.evidence.with(table.decimal_comma);
    const Evidence::Count& dates = one.evidence.dates;
    if (found.enough()) {
      refuse_strays(table, *one.column, found, "number", strict);
      make_numbers(table, table.decimal_comma, *one.column);
    } else if (dates.enough()) {
      refuse_strays(table, *one.column, dates, "date", strict);
      csv::take_stray_dates(table, *one.column);
    }
  }
}

void read_texts(Table& table, const Encoder& encoder, bool strict) {
  for (const FeatureColumn& feature : encoder.features) {
    const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                     [&](const Column& one) { return one.name == feature.name; });
    if (column == table.columns.end() || !column->is_text) continue;
    empty_words(feature.categories, *column);
    const bool is_date = feature.kind == ColumnKind::datetime;
    if (!is_date && (feature.text || feature.kind != ColumnKind::numeric)) continue;
    Evidence evidence;
    csv::weigh(table, *column, evidence);
    const Evidence::Count& own = is_date ? evidence.dates : evidence.with(encoder.decimal_comma);
    if (!is_date) refuse_other_mark(table, *column, evidence, encoder.decimal_comma);
    // Several cells, of which none fits, are another column; one is a stray cell.
    const bool is_another = own.fit == 0 && own.strays > 1;
    if (own.strays > 0 && (strict || is_another)) {
      throw DataError(cell(table, own.stray, *column) + " " + expectation(feature.kind));
    }
    if (is_date) {
      csv::take_stray_dates(table, *column);
    } else {
      make_numbers(table, encoder.decimal_comma, *column);
    }
  }
}

}  // namespace dma
