// data/dates.h: the order of day and month in a date with slashes, and the parts of a date that repeat.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dma {

// How 1/2/2024 is read. The training data decide, by a date with a part above 12. Such dates are refused in a column
// that had none in training.
enum class SlashDates { none, month_first, day_first };
std::string_view name_of(SlashDates order);

// year      the place in the year, as a point on a circle: two inputs
// month     twelve inputs, 0 or 1
// weekday   seven inputs, 0 or 1, from Monday on
// day       the time of day (UTC), as a point on a circle that goes round once a day and one twice a day: four inputs
enum class DatePart { year, month, weekday, day };
std::string_view name_of(DatePart part);
std::size_t width_of(DatePart part);
// "May", "Monday", "day, sine": one per input.
std::vector<std::string> input_names(DatePart part);
// Writes the inputs of the part, of a date in days since 1970.
void encode_part(DatePart part, double days, double* out);

}  // namespace dma
