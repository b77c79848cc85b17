// data/dates.h: the order of day and month in a date with slashes.
#pragma once

#include <string_view>

namespace dma {

// How 1/2/2024 is read. The training data decide, by a date with a part above 12. Such dates are refused in a column
// that had none in training.
enum class SlashDates { none, month_first, day_first };
std::string_view name_of(SlashDates order);

}  // namespace dma
