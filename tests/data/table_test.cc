// Rows of a table, chosen and joined.
#include <dma/base/error.h>
#include <dma/data/table.h>

#include <gtest/gtest.h>

namespace dma {
namespace {

Table colours(std::vector<double> numbers, std::vector<std::uint32_t> codes,
              std::vector<std::string> values) {
  return {.source = "f.csv",
          .columns = {{.name = "x", .numbers = std::move(numbers)},
                      {.name = "colour",
                       .codes = std::move(codes),
                       .values = std::move(values),
                       .is_text = true}},
          .first_line = 2};
}

std::string text(const Table& table, std::size_t row) {
  const Column& column = table.columns[1];
  return column.empty(row) ? "" : column.values[column.codes[row]];
}

TEST(SelectRows, KeepsCellsAndLines) {
  const Table table = colours({1, 2, 3}, {1, Column::empty_cell, 0}, {"red", "blue"});
  const std::vector<std::size_t> rows{2, 0, 0};
  const Table part = select_rows(table, rows);
  EXPECT_EQ(part.columns[0].numbers, (std::vector<double>{3, 1, 1}));
  EXPECT_EQ(text(part, 0) + text(part, 1) + text(part, 2), "redblueblue");
  EXPECT_EQ(part.line(0), 4U);
  EXPECT_EQ(part.line(2), 2U);
}

TEST(AppendRows, TranslatesText) {
  Table table = colours({1, 2}, {1, 0}, {"red", "blue"});
  append_rows(table, colours({3, 4, 5}, {0, 1, Column::empty_cell}, {"green", "red"}));
  EXPECT_EQ(table.rows(), 5U);
  EXPECT_EQ(text(table, 0) + text(table, 2) + text(table, 3) + text(table, 4), "bluegreenred");
  EXPECT_EQ(table.columns[1].values, (std::vector<std::string>{"red", "blue", "green"}));
  EXPECT_EQ(table.line(1), 3U);
  EXPECT_EQ(table.line(2), 2U);
}

TEST(AppendRows, RefusesOtherColumns) {
  Table table = colours({1}, {0}, {"red"});
  Table other = table;
  other.columns[0].name = "z";
  EXPECT_THROW(append_rows(table, other), DataError);
  other.columns.pop_back();
  EXPECT_THROW(append_rows(table, other), DataError);
}

}  // namespace
}  // namespace dma
