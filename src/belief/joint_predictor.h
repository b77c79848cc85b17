// belief/joint_predictor.h: predictions of a joint belief: its function, and the noise around it.
#pragma once

#include <memory>
#include <span>

#include <dma/belief/joint_posterior.h>

#include "belief/joint_algebra.h"
#include "belief/joint_backend.h"

namespace dma::detail {

// Of the targets, given what is believed of the outputs.
Prediction predictive(const Likelihood& likelihood, OutputMoments moments);

class KnowledgePredictor final : public Predictor {
 public:
  explicit KnowledgePredictor(const JointKnowledge& known);

  // By what is known of the weights, as if all inputs were certain.
  OutputMoments by_weights(std::span<const double> inputs, std::size_t rows,
                           std::size_t threads) const;
  OutputMoments outputs(std::span<const double> inputs, std::size_t rows,
                        std::size_t threads) const override;
  Prediction predict(std::span<const double> inputs, std::size_t rows,
                     std::size_t threads) const override;

 private:
  void predict_part(std::span<const double> inputs, std::size_t begin, std::size_t end,
                    OutputMoments& result) const;

  Architecture architecture_;
  JointUnit unit_;
  Vector centre_;
  std::unique_ptr<JointPredictor> function_, log_noise_;  // the latter may be null
  std::shared_ptr<const Likelihood> likelihood_;
  NoiseInputs noise_inputs_;
};

}  // namespace dma::detail
