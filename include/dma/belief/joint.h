// belief/joint.h: all weights of a network as one variable, with a joint Gaussian belief.
//
//   dma::Architecture network{.widths = {8, 20, 1}, .bias = {true}};
//   dma::JointBelief belief(network, {.likelihood = dma::gaussian({.variance = {0.1}, .learn = true})});
//   belief.append({inputs, targets, rows});
//   const auto result = belief.fit();
//   const auto prediction = belief.predictor()->predict(new_inputs, new_rows);
//   belief.forget(0);
//
// The linear rule, applied to the whole network as one factor. At the belief's mean m,
//
//   f(x; w) = f(x; m) + J (w - m),   J = df/dw at m      one sweep forward, one backward
//
// and an example with target y and noise variance s sends the weights the message
//
//   precision J' J / s,   precision times mean J' (y - f(x; m) + J m) / s
//
// of rank one: never a negative precision. The posterior is the prior times all messages; an epoch replaces
// every message by the one at the new mean. A step that would lower the posterior density is damped
// (Levenberg and Marquardt), which leaves the fixed point where it is.
//
// Another likelihood is taken for a Gaussian at the value f: with the gradient g and the curvature H of log p(y | f), both
// over all outputs, the message has precision J' H J.
//
// Taking an example's message out again has a closed form. With the posterior covariance P, S = J P J' and H = R R', what
// is believed of the example's outputs without its own message is
//
//   covariance C = S + S R (1 - R' S R)^-1 R' S,   mean f - C g                        the cavity
//
// For Gaussian noise of variance s and one output: with the leverage h = S / s, C = S / (1 - h).
//
// Independent weights (belief/independent.h) treat each other's uncertainty as noise; here what is known of
// their sums is known. The price, for D weights and M messages: M D^2 + D^3 per epoch, or M^3 in the form of messages
// (joint_posterior.h), whichever is less.
//
// Its units are in layers/architecture.h. Every layer has a bias.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <dma/belief/belief.h>
#include <dma/belief/joint_posterior.h>

namespace dma {

struct JointOptions {
  bool by_column =
      true;  // every input column has a prior precision of its own: it can be switched off
  std::uint64_t seed = 1;  // of the weights that the fit starts from
};

// The ledger is full or none; every row has messages of its own there, one per output, whatever the batches.
//
// If the rows of every batch are here, a fit learns everything, from where the belief is. If not, what is known stands, and
// the new rows are linearised where the old ones were: the old messages hold there only, and a network that moved on
// would pay too little for what it unlearns.
class JointBelief final : public Belief {
 public:
  // Throws NetworkError if an argument cannot be used.
  explicit JointBelief(Architecture architecture, TrainingOptions options = {},
                       JointOptions own = {});
  // One that was fitted. Its messages stand; the rows are not here.
  JointBelief(JointKnowledge known, const Heard& heard, TrainingOptions options = {},
              JointOptions own = {});
  // A stored one.
  JointBelief(Architecture architecture, Arrays stored, const Heard& heard,
              TrainingOptions options = {}, JointOptions own = {});
  ~JointBelief() override;
  JointBelief(JointBelief&&) noexcept;
  JointBelief& operator=(JointBelief&&) noexcept;

  std::unique_ptr<Belief> copy(TrainingOptions options) const override;
  const Architecture& architecture() const override;
  const Likelihood& likelihood() const override;
  std::size_t append(const Data& rows) override;
  void attach(std::size_t batch, const Data& rows) override;
  FitResult fit(const std::function<void(bool last)>& after_epoch = {}) override;
  Arrays fit_state() const override;
  void resume(Arrays state) override;
  using Belief::forget;
  void forget(std::span<const std::size_t> batches) override;
  void reduce(std::size_t batch, double share) override;
  std::size_t batches() const override;
  std::unique_ptr<Predictor> predictor() const override;
  std::vector<double> sample_functions(std::span<const double> inputs, std::size_t rows,
                                       std::size_t count, std::uint64_t seed) const override;
  WeightMoments weights() const override;
  InputRange seen_inputs() const override;
  std::span<const double> learnt_inputs() const override;
  std::size_t ledger_bytes() const override;
  Arrays store() const override;
  void drop_ledger() override;

  const JointKnowledge& knowledge() const;

 private:
  class State;
  JointBelief(const JointBelief& other, TrainingOptions options);

  std::unique_ptr<State> state_;
};

}  // namespace dma
