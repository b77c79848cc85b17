// One line of the page's summary table: our figure and the paper's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dma::experiments {

// agrees: as in the paper; differs: not as in the paper; beyond: the paper has no such figure.
enum class Agreement { agrees, differs, beyond };

inline std::string name(Agreement agreement) {
  switch (agreement) {
    case Agreement::agrees:
      return "agrees";
    case Agreement::differs:
      return "differs";
    case Agreement::beyond:
      return "beyond";
  }
  return {};
}

inline Agreement agrees_if(bool holds) { return holds ? Agreement::agrees : Agreement::differs; }

inline nlohmann::json verdict(const std::string& figure, const std::string& ours,
                              const std::string& paper, Agreement agreement,
                              const std::string& why = {}) {
  return {{"figure", figure},
          {"ours", ours},
          {"paper", paper},
          {"verdict", name(agreement)},
          {"why", why}};
}

}  // namespace dma::experiments
