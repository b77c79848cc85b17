// likelihood/counts.h: a target that is a count.
//
//   y ~ NegativeBinomial of mean exp(c + f) and variance exp(c + f) + dispersion exp(2 (c + f))
//
// c is the log of a usual count, so that f is about 0. Without dispersion it is Poisson's.
//
// Predictions are of log rates: their mean and variance is what is believed of c + f, and the noise is the variance of the
// log of a Gamma variable with the dispersion as its variance, psi'(1 / dispersion) (metrics/predicted.h says what that
// means for the count). Before a network says anything, f is N(0, s^2), s half the log of the largest count over the usual
// one: a network that has no idea of a row knows that much. (The mean of a count would otherwise be that of the few rates
// that are beyond all reason.) Rows that were not learnt tell the dispersion, and a factor of what is believed of the
// variance of f:
//
//   log dispersion ~ N(-1, 2^2),   log width ~ N(0, 1) before a row is seen
#pragma once

#include <memory>
#include <vector>

#include <dma/likelihood/likelihood.h>

namespace dma {

// c, and how far above it the log of the largest count is.
struct CountRates {
  double usual = 0, reach = 2;
};

class CountLikelihood final : public Likelihood {
 public:
  // Throws NetworkError if a number is not finite or the dispersion is not positive.
  explicit CountLikelihood(CountRates rates, bool learns = true, double dispersion = 0.5);
  ~CountLikelihood() override;

  const CountRates& rates() const { return rates_; }
  double dispersion() const;
  double width() const;

  std::unique_ptr<Likelihood> clone() const override;
  std::unique_ptr<Likelihood> for_outputs(std::size_t outputs) const override;
  std::size_t outputs() const override { return 1; }
  std::size_t targets() const override { return 1; }
  Family family() const override { return Family::count; }
  void validate(std::span<const double> targets) const override;
  // That of factors/negative_binomial.h.
  void message(Rule rule, std::span<const double> target, const Outputs& outputs,
               std::span<double> mean, std::span<double> variance) const override;
  std::unique_ptr<RowTerms> terms(const Targets& targets,
                                  std::span<const double> scales = {}) override;
  double mean_nll(const Targets& targets, const Outputs& outputs) const override;
  Prediction predictive(const Outputs& outputs, const LogScale& scale = {}) const override;
  // The log rate of a row whose output was drawn from what is believed of it.
  double drawn_log_rate(double drawn, double mean, double variance) const;
  Metrics score(const Targets& targets, const Prediction& predicted) const override;
  bool learns() const override { return learns_; }
  void learn(const Targets& targets, const Outputs& predicted) override;
  bool follow(std::span<const double> target, const Outputs& predicted, double weight = 1) override;
  void finish_learning() override;
  void store(Arrays& stored) const override;
  void restore(Arrays& stored) override;

 private:
  struct Room;
  CountLikelihood(const CountLikelihood& other);

  CountRates rates_;
  bool learns_;
  double log_dispersion_, log_width_ = 0;
  std::unique_ptr<Room> room_;
};

}  // namespace dma
