// bench/networks.h: networks of known sizes, with rows drawn for them.
#pragma once

#include <dma/belief/independent.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dma::bench {

struct Network {
  std::string name;  // 13-50-1
  Architecture architecture;
  WeightPrior prior;
  std::vector<double> inputs, targets;
  std::size_t rows;

  Data data() const { return {inputs, targets, rows}; }
};

// Inputs are standard normal, targets a smooth function of some of them with noise of variance 0.04. The values do not
// change how long an epoch takes, as long as they stay ordinary.
Network network(const std::vector<std::size_t>& widths, std::size_t rows);

Network small_network();  // 83 weights, the paper's
Network deep_network();   // 1,932 weights, the paper's
Network table_network();  // 13-50-1, 455 rows
Network wide_network();   // 8-100-100-1, 7,000 rows
Network image_network();  // 784-256-256-10, 2,000 rows

struct Options {
  TrainingOptions training = {};
  IndependentOptions own = {};
};

template <std::floating_point T>
IndependentBelief<T> belief(const Network& network, const Options& options = {}) {
  IndependentBelief<T> result(network.architecture, network.prior, options.training, options.own);
  result.append(network.data());
  return result;
}

}  // namespace dma::bench
