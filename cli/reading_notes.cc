#include "cli/reading_notes.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/bad_input.h"

namespace dma::cli {
namespace {

using OfColumn = ReadingNotes::OfColumn;

constexpr std::size_t longest_value = 40;

std::string quoted(const std::string& value) {
  if (value.size() <= longest_value) return "'" + on_one_line(value) + "'";
  std::size_t end = longest_value;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xc0U) == 0x80U) --end;
  return "'" + on_one_line(value.substr(0, end)) + "...'";
}

bool is_used(const Encoder& encoder, const std::string& name) {
  const auto has_name = [&](const auto& column) { return column.name == name; };
  return encoder.weight == name ||
         std::any_of(encoder.features.begin(), encoder.features.end(), has_name) ||
         std::any_of(encoder.targets.begin(), encoder.targets.end(), has_name);
}

// 243 of 244 cells are numbers, line 50 has 'unknown': it counts as empty
std::string stray_text(const OfColumn& column) {
  const CellNote& stray = column.stray;
  return fmt::format("{}: {} of {} cells are {}, line {} has {}{}", on_one_line(column.name),
                     column.filled, column.filled + stray.count,
                     column.is_text ? "dates" : "numbers", stray.line, quoted(stray.value),
                     stray.count == 1 ? "; it counts as empty"
                                      : fmt::format("; {} such cells count as empty", stray.count));
}

void add_encoding(const ReadingNotes& notes, std::vector<ReadingNote>& all) {
  if (notes.encoding.empty()) return;
  all.push_back({"encoding", notes.encoding == "UTF-16"
                                 ? "UTF-16"
                                 : notes.encoding + ": some bytes are not UTF-8"});
}

// Of several columns that are alike in this the first is shown.
void add_marked(const std::vector<OfColumn>& columns, std::vector<ReadingNote>& all) {
  const auto is_marked = [](const OfColumn& column) { return column.marked.count > 0; };
  const auto count = std::count_if(columns.begin(), columns.end(), is_marked);
  if (count == 0) return;
  const OfColumn& first = *std::find_if(columns.begin(), columns.end(), is_marked);
  all.push_back(
      {"numbers",
       fmt::format(
           "{} in line {}, column {}, is read as {}{}", quoted(first.marked.value),
           first.marked.line, on_one_line(first.name), first.marked.number,
           count == 1 ? "" : fmt::format("; {} other columns have such marks", count - 1))});
}

}  // namespace

std::vector<ReadingNote> reading_notes(const ReadingNotes& notes, const Encoder& encoder) {
  std::vector<ReadingNote> all;
  if (notes.numeric_header) {
    all.push_back({"header",
                   "the first line was read as column names although it has numbers; if it is "
                   "data, use --no-header"});
  }
  add_encoding(notes, all);
  if (notes.decimal_comma) {
    all.push_back(
        {"numbers", "have a decimal comma: 1,5 is one and a half; if not, use --decimal ."});
  }
  std::vector<OfColumn> used;
  std::copy_if(notes.columns.begin(), notes.columns.end(), std::back_inserter(used),
               [&](const OfColumn& column) { return is_used(encoder, column.name); });
  add_marked(used, all);
  for (const OfColumn& column : used) {
    if (column.stray.count > 0) all.push_back({"stray cells", stray_text(column)});
  }
  return all;
}

void print_reading(const ReadingNotes& notes, const std::string& source) {
  if (!notes.encoding.empty()) {
    fmt::print(stderr, "{}: read as {}\n", source, notes.encoding);
  }
  for (const OfColumn& column : notes.columns) {
    if (column.stray.count > 0) fmt::print(stderr, "{}, column {}\n", source, stray_text(column));
  }
}

}  // namespace dma::cli
