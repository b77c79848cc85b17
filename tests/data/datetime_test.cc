// Dates against the calendar: every day of four centuries, every form, and what is no date.
#include "data/datetime.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace dma {
namespace {

std::string format(const char* pattern, int a, int b, int c) {
  std::array<char, 32> buffer;
  const int length = std::snprintf(buffer.data(), buffer.size(), pattern, a, b, c);
  return {buffer.data(), static_cast<std::size_t>(length)};
}

double days(const std::string& text, SlashDates order = SlashDates::none) {
  return parse_datetime(text, order).value_or(-1e9);
}

TEST(Datetime, CountsTheDaysOfTheCalendar) {
  constexpr std::array month_days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  double expected = -135140;  // 1600-01-01: 370 years of 365 days and 90 leap days before 1970
  for (int year = 1600; year < 2100; ++year) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    for (int month = 1; month <= 12; ++month) {
      const int last = month_days[static_cast<std::size_t>(month - 1)] + (leap && month == 2);
      EXPECT_EQ(days(format("%04d-%02d", year, month, 0)), expected);
      for (int day = 1; day <= last; ++day, ++expected) {
        ASSERT_EQ(days(format("%04d-%02d-%02d", year, month, day)), expected);
      }
      ASSERT_FALSE(parse_datetime(format("%04d-%02d-%02d", year, month, last + 1), {}));
      ASSERT_FALSE(parse_datetime(format("%04d-%02d-%02d", year, month, 0), {}));
    }
  }
  EXPECT_EQ(days("1970-01-01"), 0);
  EXPECT_EQ(days("2000-03-01"), 11017);
  EXPECT_EQ(days("0001-01-01"), -719162);
}

TEST(Datetime, ReadsEveryForm) {
  const double day = days("2024-02-03");
  for (const char* text : {"2024/02/03", "03.02.2024", "3.2.2024", "2024-2-3", "2024/2/3",
                           "2024-02-03 00:00", "2024-02-03T00:00:00Z", "03.02.2024 00:00"}) {
    EXPECT_EQ(days(text), day) << text;
  }
  EXPECT_EQ(days("02/03/2024", SlashDates::month_first), day);
  EXPECT_EQ(days("3/2/2024", SlashDates::day_first), day);
  EXPECT_EQ(days("3/2/2024 12:00", SlashDates::day_first), day + 0.5);
  EXPECT_EQ(days("2024-02"), day - 2);
}

TEST(Datetime, ReadsTimesAndOffsets) {
  const double day = days("2024-02-03");
  EXPECT_EQ(days("2024-02-03 06:00"), day + 0.25);
  EXPECT_EQ(days("2024-02-03T6:00"), day + 0.25);
  EXPECT_DOUBLE_EQ(days("2024-02-03 23:59:59"), day + 1 - 1.0 / 86400);
  EXPECT_EQ(days("2024-02-03 23:59:60"), day + 1);
  EXPECT_NEAR(days("2024-02-03 00:00:00.125"), day + 0.125 / 86400, 1e-11);
  EXPECT_NEAR(days("2024-02-03 00:00:01.000000001"), day + 1.0 / 86400, 1e-11);
  for (const char* text : {"2024-02-03T02:00+02:00", "2024-02-03 02:00:00+0200",
                           "2024-02-03 02:00 +02", "2024-02-02 18:30-05:30", "2024-02-03 00:00Z"}) {
    EXPECT_EQ(days(text), day) << text;
  }
}

TEST(Datetime, RefusesTheRest) {
  for (const char* text : {"",
                           "x",
                           "2024",
                           "20240203",
                           "2023-02-30",
                           "2023-02-29",
                           "2023-13-01",
                           "2023-00-01",
                           "2024-2",
                           "2024/02",
                           "24-02-03",
                           "02024-02-03",
                           "2024-02-03x",
                           "2024-02-03 ",
                           " 2024-02-03",
                           "2024-02/03",
                           "2024.02.03",
                           "31.4.2024",
                           "1.1.24",
                           "1.1/2024",
                           "2024-02-03 24:00",
                           "2024-02-03 10:60",
                           "2024-02-03 10",
                           "2024-02-03 10:00:61",
                           "2024-02-03 10:00:00.",
                           "2024-02-03 10:00:0",
                           "2024-02-03Z",
                           "2024-02-03+02:00",
                           "2024-02-03 10:00 ",
                           "2024-02-03 10:00+2",
                           "2024-02-03 10:00+020",
                           "2024-02-03 10:00+24:00",
                           "2024-02-03 10:00+02:60",
                           "2024-02-03 10:00+02:0",
                           "2024-02-03 10:00 UTC",
                           "1-2-2024",
                           "99999999999-01-01",
                           "-2024-01-01",
                           "10:00"}) {
    for (const auto order : {SlashDates::none, SlashDates::month_first, SlashDates::day_first}) {
      EXPECT_FALSE(parse_datetime(text, order)) << text;
    }
  }
  EXPECT_FALSE(parse_datetime("1/2/2024", SlashDates::none));
  EXPECT_FALSE(parse_datetime("13/2/2024", SlashDates::month_first));
  EXPECT_FALSE(parse_datetime("2/13/2024", SlashDates::day_first));
  EXPECT_FALSE(parse_datetime("2/3/24", SlashDates::day_first));
}

}  // namespace
}  // namespace dma
