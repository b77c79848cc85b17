// data/evidence.h: whether the texts of a column are numbers, and with which decimal mark, or dates.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <dma/data/table.h>

#include "data/number.h"

namespace dma::csv {

// What the texts of a column would be as numbers or dates.
struct Evidence {
  struct Count {
    std::size_t fit = 0, strays = 0;
    CellNote needed = {};  // numbers that the other decimal mark does not allow
    CellNote stray = {};

    bool enough() const;  // for a column of this kind
  };
  Count point = {}, comma = {}, dates = {};
  std::size_t no_numbers = 0;  // with either mark

  const Count& with(bool decimal_comma) const { return decimal_comma ? comma : point; }
  // Some cells need one mark, some the other, and nearly all are numbers with one of them.
  bool is_mixed() const;
  // Whether it is a column of numbers only if the decimal mark is a comma, a point.
  bool needs_comma() const { return comma.needed.count > 0 && comma.enough(); }
  bool needs_point() const { return point.needed.count > 0 && point.enough(); }
};

// Whether it is a date, whatever the order of day and month.
bool is_date(std::string_view text);

// Adds the cells of a column of text of this table.
void weigh(const Table& table, const Column& column, Evidence& evidence);

// A cell that a column of numbers cannot have.
struct Refused {
  Reading reading;
  std::size_t row;
  std::string text;
};

// Makes numbers of a column of text, and notes what is stray or marked. The first cell that is too large or not finite, if
// there is one.
std::optional<Refused> make_numbers(const Table& table, bool decimal_comma, Column& column);

// Empties and notes the cells of a column of text that are no dates.
void take_stray_dates(const Table& table, Column& column);

// What is wrong with a cell in a column of numbers, after its value: " is not finite; ...".
std::string complaint(Reading reading);
// The same of the first stray cell, if there may be none; the kind is "number" or "date".
std::string stray_complaint(const Evidence::Count& found, std::string_view kind);

}  // namespace dma::csv
