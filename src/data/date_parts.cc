// The parts of a date that repeat: data/dates.h.
#include <array>
#include <chrono>
#include <cmath>
#include <numbers>

#include <dma/data/dates.h>

#include "data/date_parts.h"

namespace dma {
namespace {

struct Circle {
  const char* sine;
  const char* cosine;
  double turns;  // per turn of the part
};

constexpr std::array<Circle, 1> year_circles{{{"year, sine", "year, cosine", 1}}};
constexpr std::array<Circle, 2> day_circles{
    {{"day, sine", "day, cosine", 1}, {"half day, sine", "half day, cosine", 2}}};
constexpr std::array<const char*, 12> months{"January",   "February", "March",    "April",
                                             "May",       "June",     "July",     "August",
                                             "September", "October",  "November", "December"};
constexpr std::array<const char*, 7> weekdays{"Monday", "Tuesday",  "Wednesday", "Thursday",
                                              "Friday", "Saturday", "Sunday"};

template <std::size_t N>
std::vector<std::string> circle_names(const std::array<Circle, N>& circles) {
  std::vector<std::string> names;
  for (const Circle& circle : circles) {
    names.emplace_back(circle.sine);
    names.emplace_back(circle.cosine);
  }
  return names;
}

// Scaled so that the deviation over a whole turn is 1.
template <std::size_t N>
void encode_circles(const std::array<Circle, N>& circles, double share, double* out) {
  for (const Circle& circle : circles) {
    const double angle = 2 * std::numbers::pi * circle.turns * share;
    *out++ = std::numbers::sqrt2 * std::sin(angle);
    *out++ = std::numbers::sqrt2 * std::cos(angle);
  }
}

std::chrono::sys_days day_of(double days) {
  return std::chrono::sys_days{std::chrono::days{static_cast<std::int64_t>(std::floor(days))}};
}

double share_of_year(double days) {
  using namespace std::chrono;
  const year year = year_month_day{day_of(days)}.year();
  const auto begin = static_cast<double>(sys_days{year / January / 1}.time_since_epoch().count());
  const auto end = static_cast<double>(
      sys_days{(year + std::chrono::years{1}) / January / 1}.time_since_epoch().count());
  return (days - begin) / (end - begin);
}

}  // namespace

unsigned month_of(double days) {
  return static_cast<unsigned>(std::chrono::year_month_day{day_of(days)}.month()) - 1;
}

unsigned day_of_month(double days) {
  return static_cast<unsigned>(std::chrono::year_month_day{day_of(days)}.day()) - 1;
}

unsigned weekday_of(double days) { return std::chrono::weekday{day_of(days)}.iso_encoding() - 1; }

std::string_view name_of(DatePart part) {
  constexpr std::array<std::string_view, 4> names{"place in the year", "month", "weekday",
                                                  "time of day"};
  return names[static_cast<std::size_t>(part)];
}

std::size_t width_of(DatePart part) {
  constexpr std::array<std::size_t, 4> widths{2 * year_circles.size(), months.size(),
                                              weekdays.size(), 2 * day_circles.size()};
  return widths[static_cast<std::size_t>(part)];
}

std::vector<std::string> input_names(DatePart part) {
  switch (part) {
    case DatePart::year:
      return circle_names(year_circles);
    case DatePart::month:
      return {months.begin(), months.end()};
    case DatePart::weekday:
      return {weekdays.begin(), weekdays.end()};
    case DatePart::day:
      break;
  }
  return circle_names(day_circles);
}

void encode_part(DatePart part, double days, double* out) {
  switch (part) {
    case DatePart::year:
      return encode_circles(year_circles, share_of_year(days), out);
    case DatePart::month:
      std::fill_n(out, months.size(), 0.0);
      out[month_of(days)] = 1;
      return;
    case DatePart::weekday:
      std::fill_n(out, weekdays.size(), 0.0);
      out[weekday_of(days)] = 1;
      return;
    case DatePart::day:
      return encode_circles(day_circles, days - std::floor(days), out);
  }
}

void SeenParts::add(double days) {
  const auto note = [](std::uint32_t& seen, unsigned value) { seen |= std::uint32_t{1} << value; };
  note(months_, month_of(days));
  note(weekdays_, weekday_of(days));
  note(days_, day_of_month(days));
  const double time = days - std::floor(days);
  if (first_time_ < 0) first_time_ = time;
  times_differ_ = times_differ_ || time != first_time_;
}

std::vector<DatePart> SeenParts::that_differ() const {
  const auto several = [](std::uint32_t seen) { return (seen & (seen - 1)) != 0; };
  std::vector<DatePart> parts;
  if (several(months_)) parts = {DatePart::year, DatePart::month};
  if (several(weekdays_) && several(days_)) parts.push_back(DatePart::weekday);
  if (times_differ_) parts.push_back(DatePart::day);
  return parts;
}

}  // namespace dma
