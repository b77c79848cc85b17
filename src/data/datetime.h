// data/datetime.h: dates and times as written in files.
//
//   2024-12-31   2024/12/31   2024-12   31.12.2024   12/31/2024 or 31/12/2024
//
// Each may be followed by a space or T and 23:59, 23:59:59 or 23:59:59.25, and that by Z or an offset: +02:00, +0200,
// +02. A time without an offset is UTC.
#pragma once

#include <optional>
#include <string_view>

#include <dma/data/dates.h>

namespace dma {

// Days since 1970-01-01 00:00 UTC; nothing if it is not a valid date. Dates with slashes and the year at the end are
// read in the given order; with SlashDates::none they are not read.
std::optional<double> parse_datetime(std::string_view text, SlashDates order);

}  // namespace dma
