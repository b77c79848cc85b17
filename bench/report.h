// bench/report.h: a run as a table, or as one JSON object.
#pragma once

#include <string>

#include "bench/accepted.h"
#include "bench/plan.h"

namespace dma::bench {

std::string table(const Report& report);
std::string json(const Report& report);
// What a check found, one line each.
std::string text(const Check& check);

}  // namespace dma::bench
