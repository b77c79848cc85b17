// likelihood/classes.h: a target that is one of several classes.
//
//   two classes   one output f,             p(1 | f) = 1 / (1 + exp(-f))
//   more          one output per class,     p(c | f) = exp(f_c) / sum_k exp(f_k)
//
// A target is the number of its class, from 0 on. Predictions are of the indicators of all classes: their mean is the
// probability of each, averaged over what is believed of f, not taken at its mean.
//
// Where classes can be told apart, what a network believes of f = N(m, S) is too unsure: a Gaussian at the mode knows of
// the logistic function only its curvature there. Rows that were not learnt tell how much, and predictions are of
//
//   N(a m, a^2 b S),   log a ~ N(0, 0.5^2), log b ~ N(0, 2^2) before a row is seen
//
// with the most probable sharpness a and width b.
#pragma once

#include <memory>
#include <vector>

#include <dma/data/encoder.h>
#include <dma/likelihood/likelihood.h>

namespace dma {

class ClassLikelihood final : public Likelihood {
 public:
  // Throws NetworkError unless there are 2 to most_classes classes. Sharpness and width are 1 if they are not learnt.
  explicit ClassLikelihood(std::size_t classes, bool learns = true);

  std::size_t classes() const { return classes_; }
  double sharpness() const;
  double width() const;

  std::unique_ptr<Likelihood> clone() const override;
  std::unique_ptr<Likelihood> for_outputs(std::size_t outputs) const override;
  std::size_t outputs() const override { return classes_ == 2 ? 1 : classes_; }
  std::size_t targets() const override { return 1; }
  void validate(std::span<const double> targets) const override;
  // Rule::direct: given the others, an output x is on one side of L = log sum exp of all others: the factor is the logistic
  // function of x - L for the class of the target and of L - x for every other. L has a Gaussian belief by its first two
  // derivatives (exact for two classes).
  // Rule::linear: the same for two classes; for more, whether the target is of a class is regressed on its output.
  void message(Rule rule, std::span<const double> target, const Outputs& outputs,
               std::span<double> mean, std::span<double> variance) const override;
  std::unique_ptr<RowTerms> terms(const Targets& targets,
                                  std::span<const double> scales = {}) override;
  double mean_nll(const Targets& targets, const Outputs& outputs) const override;
  Prediction predictive(const Outputs& outputs, const LogScale& scale = {}) const override;
  // Of a row whose outputs were drawn from a belief with this mean.
  std::vector<double> probabilities(std::span<const double> drawn,
                                    std::span<const double> mean) const;
  Metrics score(const Targets& targets, const Prediction& predicted) const override;
  bool learns() const override { return learns_; }
  void learn(const Targets& targets, const Outputs& predicted) override;
  void store(Arrays& stored) const override;
  void restore(Arrays& stored) override;

 private:
  OutputMoments calibrated(const Outputs& outputs, double log_width) const;
  void add_noise_of_width(const Outputs& outputs, Prediction& prediction) const;

  std::size_t classes_;
  bool learns_;
  double log_sharpness_ = 0, log_width_ = 0;
};

}  // namespace dma
