// regressor/mixture.h: what the members of a model say, as one prediction.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <dma/belief/belief.h>
#include <dma/metrics/predicted.h>
#include <dma/regressor/model.h>

namespace dma::detail {

// The members, prepared to predict many rows.
class Mixture {
 public:
  explicit Mixture(const Model& model);

  // In the targets' own units: rows x targets. The model is the same, or a copy. Throws NoPrediction if a prediction is
  // not finite.
  std::vector<Predicted> predict(const Model& model, std::span<const double> inputs,
                                 std::size_t rows, std::size_t threads) const;
  // In two steps: what each member says by itself, standardised, and what that says together.
  std::vector<Prediction> said(std::span<const double> inputs, std::size_t rows,
                               std::size_t threads) const;
  static std::vector<Predicted> together(const Model& model, std::span<const Prediction> said,
                                         std::size_t rows);

 private:
  std::vector<std::unique_ptr<Predictor>> members_;
};

// Mixes what the members say of these rows, standardised, into predictions in the targets' own units: rows x targets. There
// may be no calibrations.
std::vector<Predicted> mix_members(std::span<const Prediction> said, std::size_t rows,
                                   std::span<const Member> members, const Encoder& encoder,
                                   std::span<const Calibration> calibrations = {});
// Adds what a part says of the classes of a row.
void add_classes(const Prediction& prediction, std::size_t row, double weight, Predicted& mixed);
Predicted in_own_units(Predicted standardised, const TargetColumn& target);

// Networks that were fitted alike, each of which says how far it may be off, given that it has not learnt the row: their
// mean is off by less. What each says becomes what it adds to the mean's prediction. The weights are equal.
//
// With M networks at mu_i, mu their mean and B the mean of (mu_i - mu)^2, a value y is missed by
//
//   mean of (y - mu_i)^2 = (y - mu)^2 + B        (Krogh and Vedelsby 1995)
//
// so that T, the variance that one network says, is by B too much for their mean. But T was learnt where there are rows.
// Where there are none the networks may differ by more than it allows, and each stands for itself. In between is where T is
// what one network would miss y by if y were one more of them: 2 beta, beta = B M / (M - 1). With q = T / (2 beta),
//
//   q >= 1    all at mu, variances times 1 - B / T = 1 - (M - 1) / (2 M) / q
//   q < 1     at mu + sqrt(1 - q) (mu_i - mu), variances times 1 - (M - 1) / (2 M) q
//
// One network that runs away, and may know it, does not take the others along: T is the harmonic mean of what the networks
// say, and they are drawn to the mean of their mixture (mixture_of).
void take_together(std::span<PredictedPart> networks);

}  // namespace dma::detail
