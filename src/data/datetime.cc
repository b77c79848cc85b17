#include "data/datetime.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <utility>

#include "data/digit.h"

namespace dma {
namespace {

// The rest of a text to read. After a step that fails, nothing more is read.
struct Cursor {
  std::string_view rest;
  bool failed = false;

  bool take(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }

  void expect(char c) { failed = !take(c) || failed; }

  std::size_t digits() const {
    std::size_t count = 0;
    while (count < rest.size() && csv::is_digit(rest[count])) ++count;
    return count;
  }

  // Reads all digits that follow, between `least` and `most` of them.
  int number(std::size_t least, std::size_t most) {
    const std::size_t count = digits();
    failed = failed || count < least || count > most;
    if (failed) return 0;
    int value = 0;
    std::from_chars(rest.data(), rest.data() + count, value);
    rest.remove_prefix(count);
    return value;
  }
};

struct Date {
  int year = 0, month = 0, day = 0;
};

// 2024-12-31, 2024/12/31, 2024-12
Date read_year_first(Cursor& cursor) {
  const int year = cursor.number(4, 4);
  if (cursor.take('/')) {
    const int month = cursor.number(1, 2);
    cursor.expect('/');
    return {year, month, cursor.number(1, 2)};
  }
  cursor.expect('-');
  const std::size_t month_digits = cursor.digits();
  const int month = cursor.number(1, 2);
  if (cursor.take('-')) return {year, month, cursor.number(1, 2)};
  cursor.failed = cursor.failed || month_digits != 2;
  return {year, month, 1};
}

// 31.12.2024, 12/31/2024, 31/12/2024
Date read_year_last(Cursor& cursor, SlashDates order) {
  int day = cursor.number(1, 2);
  const char separator = cursor.take('.') ? '.' : '/';
  if (separator == '/') {
    cursor.expect('/');
    cursor.failed = cursor.failed || order == SlashDates::none;
  }
  int month = cursor.number(1, 2);
  cursor.expect(separator);
  const int year = cursor.number(4, 4);
  if (separator == '/' && order == SlashDates::month_first) std::swap(day, month);
  return {year, month, day};
}

double read_fraction(Cursor& cursor) {
  const std::size_t count = cursor.digits();
  cursor.failed = cursor.failed || count == 0;
  double value = 0;
  for (std::size_t k = count; k > 0; --k) value = (value + (cursor.rest[k - 1] - '0')) / 10;
  cursor.rest.remove_prefix(count);
  return value;
}

// Seconds since midnight. 60 seconds is a leap second, the same instant as the start of the next minute.
double read_time(Cursor& cursor) {
  const int hour = cursor.number(1, 2);
  cursor.expect(':');
  const int minute = cursor.number(2, 2);
  double seconds = 0;
  if (cursor.take(':')) {
    seconds = cursor.number(2, 2);
    cursor.failed = cursor.failed || seconds > 60;
    if (cursor.take('.')) seconds += read_fraction(cursor);
  }
  cursor.failed = cursor.failed || hour > 23 || minute > 59;
  return hour * 3600.0 + minute * 60.0 + seconds;
}

// Seconds to subtract for UTC: 0 for Z and for no offset.
double read_offset(Cursor& cursor) {
  if (cursor.rest.empty()) return 0;
  cursor.take(' ');
  if (cursor.take('Z')) return 0;
  const double sign = cursor.take('-') ? -1 : 1;
  if (sign > 0) cursor.expect('+');
  const std::size_t count = cursor.digits();
  int hours = cursor.number(2, 4);
  int minutes = 0;
  if (count == 4) {
    minutes = hours % 100;
    hours /= 100;
  } else if (cursor.take(':')) {
    minutes = cursor.number(2, 2);
  }
  cursor.failed = cursor.failed || count == 3 || hours > 23 || minutes > 59;
  return sign * (hours * 3600.0 + minutes * 60.0);
}

std::optional<double> days_since_1970(Date date) {
  const std::chrono::year_month_day day{std::chrono::year{date.year},
                                        std::chrono::month{static_cast<unsigned>(date.month)},
                                        std::chrono::day{static_cast<unsigned>(date.day)}};
  if (!day.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days{day}.time_since_epoch().count());
}

}  // namespace

std::string_view name_of(SlashDates order) {
  constexpr std::array<std::string_view, 3> names{"none", "month_first", "day_first"};
  return names[static_cast<std::size_t>(order)];
}

std::optional<double> parse_datetime(std::string_view text, SlashDates order) {
  Cursor cursor{text};
  const Date date = cursor.digits() == 4 ? read_year_first(cursor) : read_year_last(cursor, order);
  double seconds = 0;
  if (!cursor.failed && !cursor.rest.empty()) {
    if (!cursor.take('T')) cursor.expect(' ');
    seconds = read_time(cursor);
    seconds -= read_offset(cursor);
  }
  if (cursor.failed || !cursor.rest.empty()) return std::nullopt;
  const auto days = days_since_1970(date);
  if (!days) return std::nullopt;
  return *days + seconds / 86400;
}

}  // namespace dma
