// validation/pathologies.h: Table 1 of the paper, measured, at any size.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>

namespace dma::validation {

struct PathologySettings {
  std::size_t neighbourhoods = 1000;  // of each kind
  std::size_t network_examples = 200;
  std::size_t joint_examples = 20;  // on one graph: the paper's mini-batch
  std::size_t weight_samples = 100'000;
  std::size_t most_sweeps = 200;
  double tolerance = 1e-6;
  std::uint64_t seed = 1;
};

nlohmann::json pathologies(const PathologySettings& settings);

}  // namespace dma::validation
