// data/date_parts.h: which parts of dates differ.
#pragma once

#include <cstdint>
#include <vector>

#include <dma/data/dates.h>

namespace dma {

// Counted from 0; of a date in days since 1970.
unsigned month_of(double days);
unsigned day_of_month(double days);
unsigned weekday_of(double days);  // 0: Monday

class SeenParts {
 public:
  void add(double days);
  // Where all dates are the same day of their months (one row per month), weekdays are an accident and left out.
  std::vector<DatePart> that_differ() const;

 private:
  std::uint32_t months_ = 0, weekdays_ = 0, days_ = 0;  // one bit each
  double first_time_ = -1;
  bool times_differ_ = false;
};

}  // namespace dma
