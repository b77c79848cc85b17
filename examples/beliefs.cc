// Two beliefs about the weights of a small network: fit, predict, and forget ten rows.
#include <dma/dma.h>

#include <fmt/core.h>

#include <cmath>
#include <vector>

namespace {

const dma::Architecture network{.widths = {1, 10, 1}, .bias = {true}};
const dma::TrainingOptions options{.batch_size = 10,
                                   .max_epochs = 40,
                                   .likelihood = dma::gaussian({.variance = {0.1}, .learn = true})};

// Works for every kind of belief.
void show(const char* name, dma::Belief& belief, const dma::Rows& rows) {
  belief.append(rows.data());
  const dma::FitResult result = belief.fit();
  const std::vector<double> at{-2, 0, 2};
  const auto known = belief.predictor()->predict(at, at.size());
  belief.forget(9);  // the last ten rows, where x is largest
  const auto less = belief.predictor()->predict(at, at.size());
  fmt::print("{}: {} epochs, NLL of rows not seen {:.2f}\n", name, result.epochs,
             result.cavity.nll);
  for (std::size_t n = 0; n < at.size(); ++n) {
    fmt::print("  f({:2}) = {:5.2f} ± {:.2f}, without the last rows ± {:.2f}\n", at[n],
               known.mean[n], std::sqrt(known.epistemic_variance[n]),
               std::sqrt(less.epistemic_variance[n]));
  }
}

}  // namespace

int main() {
  dma::special::Random random(1);
  dma::Rows rows;
  for (int n = 0; n < 100; ++n) {
    const double x = -2 + n / 25.0;
    rows.append({std::vector{x}, std::vector{std::sin(2 * x) + 0.2 * random.normal()}, 1});
  }
  dma::IndependentBelief<double> independent(network, dma::draw_prior(network, 1), options);
  show("independent weights", independent, rows);
  dma::JointBelief joint(network, options);
  show("joint weights", joint, rows);
}
