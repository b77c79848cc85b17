// bench/accepted.h: the ratios of the last accepted state, and whether this run is worse.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/plan.h"

namespace dma::bench {

// A ratio may be worse than the accepted one by this share.
inline constexpr double allowed_worsening = 0.15;

struct Accepted {
  Better better;
  double value;
};
using AcceptedRatios = std::map<std::string, Accepted>;

struct Worsened {
  std::string name;
  double accepted, now;
};

struct Check {
  std::vector<Worsened> worsened;
  std::vector<std::string> missing;  // accepted, of a section that ran, and not measured
  std::size_t compared = 0;

  bool passed() const { return compared > 0 && worsened.empty() && missing.empty(); }
};

// Whether a ratio is worse, in its own direction.
bool worse(const Accepted& accepted, double now);
// The section is the text before the first slash. A quick run leaves measurements out, so none counts as missing.
Check check(const AcceptedRatios& accepted, const Report& report,
            std::span<const std::string> sections);

// The file with the ratios of this kind of machine.
std::filesystem::path accepted_file(const std::filesystem::path& folder,
                                    const std::string& machine);
// Throws std::runtime_error if the file cannot be read.
AcceptedRatios read_accepted(const std::filesystem::path& path);
// Ratios of other sections stay as they are.
void write_accepted(const std::filesystem::path& path, const Report& report,
                    std::span<const std::string> sections);

}  // namespace dma::bench
