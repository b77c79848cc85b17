// validation/verdicts.h: comparisons of our figures with the paper's, as text (experiments/verdict.h).
#pragma once

#include <iomanip>
#include <sstream>
#include <string>

#include "experiments/verdict.h"

namespace dma::validation {

using experiments::Agreement;
using experiments::agrees_if;
using experiments::verdict;

// A number with so many significant digits.
inline std::string digits(double value, int significant = 3) {
  std::ostringstream text;
  text << std::setprecision(significant) << value;
  return text.str();
}

inline std::string percent(double share) { return digits(100 * share) + " %"; }

}  // namespace dma::validation
