// An epoch allocates nothing: twelve epochs make as many allocations as two.
#include <dma/belief/independent.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>

#include "counting_new.h"

namespace dma {
namespace {

std::size_t allocations_of(std::size_t epochs, TrainingOptions options,
                           const IndependentOptions& own) {
  special::Random random(1);
  std::vector<double> inputs(300);
  std::vector<double> targets(100);
  for (double& x : inputs) x = random.normal();
  for (double& y : targets) y = random.normal();
  const Architecture network{.widths = {3, 20, 7, 1}, .slopes = {0.1}, .bias = {true}};
  options.max_epochs = epochs;
  options.tolerance = 0;
  IndependentBelief<double> trainer(network, draw_prior(network, 1), options, own);
  trainer.append({inputs, targets, 100});
  const std::size_t before = test::allocations;
  trainer.fit();
  return test::allocations - before;
}

TEST(Epoch, AllocatesNothing) {
  for (const Rule rule : {Rule::direct, Rule::linear}) {
    for (const LedgerMode mode : {LedgerMode::full, LedgerMode::average, LedgerMode::none}) {
      const IndependentOptions own{.rule = rule, .belief_from_epoch = 2};
      const TrainingOptions options{.ledger = mode,
                                    .likelihood = gaussian({.variance = {1}, .learn = true})};
      EXPECT_EQ(allocations_of(2, options, own), allocations_of(12, options, own));
      EXPECT_GT(allocations_of(2, options, own), 0U);
    }
  }
}

}  // namespace
}  // namespace dma
