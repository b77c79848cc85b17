// validation/verdicts.h: our figures beside the paper's, in words (experiments/verdict.h).
#pragma once

#include <iomanip>
#include <sstream>
#include <string>

#include "experiments/verdict.h"

namespace dma::validation {

using experiments::Agreement;
using experiments::agrees_if;
using experiments::verdict;

// So many significant digits, as people read them.
inline std::string digits(double value, int significant = 3) {
  std::ostringstream text;
  text << std::setprecision(significant) << value;
  return text.str();
}

inline std::string percent(double share) { return digits(100 * share) + " %"; }

}  // namespace dma::validation
