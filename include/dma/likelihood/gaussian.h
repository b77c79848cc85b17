// likelihood/gaussian.h: y = f + noise, the noise Gaussian.
//
// Its variance is known, or learnt as one number per output, or (joint beliefs) depends on the inputs.
#pragma once

#include <memory>
#include <vector>

#include <dma/likelihood/likelihood.h>

namespace dma {

// The least noise variance of a standardised target that is believed, even where every digit is fitted. Reports say when
// it was reached.
inline constexpr double least_noise_variance = 1e-8;

struct NoiseOptions {
  std::vector<double> variance = {0.04};  // per output, or one for all; where learning starts
  bool learn = false;
};

class GaussianLikelihood final : public Likelihood {
 public:
  // Throws NetworkError if a variance is not positive and finite.
  explicit GaussianLikelihood(NoiseOptions options);
  ~GaussianLikelihood() override;

  const std::vector<double>& noise_variance() const { return variance_; }  // per output

  std::unique_ptr<Likelihood> clone() const override;
  std::unique_ptr<Likelihood> for_outputs(std::size_t outputs) const override;
  std::size_t outputs() const override { return variance_.size(); }
  std::size_t targets() const override { return variance_.size(); }
  // N(y, noise variance): exact, whatever the network says.
  void message(Rule rule, std::span<const double> target, const Outputs& outputs,
               std::span<double> mean, std::span<double> variance) const override;
  std::unique_ptr<RowTerms> terms(const Targets& targets,
                                  std::span<const double> scales = {}) override;
  double mean_nll(const Targets& targets, const Outputs& outputs) const override;
  Prediction predictive(const Outputs& outputs, const LogScale& scale = {}) const override;
  Metrics score(const Targets& targets, const Prediction& predicted) const override;
  bool learns() const override { return learns_; }
  void learn(const Targets& targets, const Outputs& predicted) override;
  bool follow(std::span<const double> target, const Outputs& predicted, double weight) override;
  void finish_learning() override;
  bool has_scale() const override { return outputs() == 1; }
  std::vector<double> squares(std::span<const double> targets,
                              const Outputs& outputs) const override;
  void store(Arrays& stored) const override;
  void restore(Arrays& stored) override;

 private:
  struct Room;
  GaussianLikelihood(std::vector<double> variance, bool learns);

  std::vector<double> variance_;
  bool learns_;
  std::unique_ptr<Room> room_;
};

std::shared_ptr<const Likelihood> gaussian(NoiseOptions options = {});
// Noise variance per output. Throws NetworkError if the likelihood is not Gaussian.
const std::vector<double>& noise_variance(const Likelihood& likelihood);

}  // namespace dma
