// experiments/method.h: a method under comparison: it turns a task's training rows into predictions.
#pragma once

#include <dma/belief/posterior.h>
#include <dma/factors/factor.h>
#include <dma/metrics/predicted.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/task/task.h"

namespace dma::experiments {

struct Fit {
  std::function<std::vector<Predicted>(const Rows&)> predict = {};  // none: the method failed
  std::vector<double> train_nll = {};                               // after each epoch
  double epochs = 0;                                                // mean over members
  std::size_t negative = 0;
  double seconds = 0;

  bool failed() const { return !predict; }
};

struct Method {
  std::string name;
  std::function<Fit(const Task& task, std::uint64_t seed)> fit;
};

// The paper's network, noise and stopping: Algorithm 1 by one of the rules, or a mixture over ten draws of
// the prior means.
Method algorithm(Rule rule);
Method mixture();
// dma fit without options: neither the network nor the noise is given. Epochs: at most so many; 0: as many as it likes.
Method product_default(std::size_t epochs = 0);

// direct, linear, mixture, default.
std::vector<Method> own_methods();

// The belief of algorithm(rule), for callers that need the weights.
Posterior<double> posterior_of(Rule rule, const Task& task, std::uint64_t seed);

}  // namespace dma::experiments
